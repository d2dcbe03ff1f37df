#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/fd.h"

namespace tmaprobe {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = fs::temp_directory_path() / "tmaprobe-file-XXXXXX";
        ASSERT_TRUE(::mkdtemp(name.data()));
        folder = name;
    }
    void TearDown() override { fs::remove_all(folder); }
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }
    fs::path folder;
};

TEST_F(Files, WhatIsWrittenIsRead) {
    const std::string content("a\0b\n", 4);
    ASSERT_TRUE(write_file(folder / "record.json", content));
    EXPECT_EQ(*read_file(folder / "record.json"), content);
    EXPECT_EQ(entries(), 1u) << "nothing may stay beside it";
}

TEST_F(Files, ReplacingKeepsTheModeOfTheOldFile) {
    ASSERT_TRUE(write_file(folder / "a", "old"));
    ASSERT_EQ(::chmod((folder / "a").c_str(), 0640), 0);
    ASSERT_TRUE(write_file(folder / "a", "new"));
    struct stat status{};
    ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
    EXPECT_EQ(*read_file(folder / "a"), "new");
}

TEST_F(Files, ALinkStaysOneAndItsTargetIsReplaced) {
    ASSERT_TRUE(write_file(folder / "real", "old"));
    fs::create_symlink("real", folder / "link");
    ASSERT_TRUE(write_file(folder / "link", "new"));
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(*read_file(folder / "real"), "new");
    EXPECT_EQ(entries(), 2u);
    // One that points to nothing yet: what it points to is made.
    fs::create_symlink("later", folder / "dangling");
    ASSERT_TRUE(write_file(folder / "dangling", "text"));
    EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
    EXPECT_EQ(*read_file(folder / "later"), "text");
}

// /dev/stdout links to whatever file it is redirected to; replacing it would break the machine.
TEST_F(Files, AnOpenDescriptorIsWrittenNotReplaced) {
    const Fd file(::open((folder / "a").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    const std::string number = std::to_string(file.get());
    ASSERT_TRUE(write_descriptor(file.get(), "one\n", "a"));
    ASSERT_TRUE(write_file("/proc/self/fd/" + number, "two\n"));
    std::string expected = "one\ntwo\n";
    // Not every machine has /dev/fd.
    if (fs::exists("/dev/fd/" + number)) {
        ASSERT_TRUE(write_file("/dev/fd/" + number, "three\n"));
        expected += "three\n";
    }
    EXPECT_EQ(*read_file(folder / "a"), expected);
    EXPECT_EQ(entries(), 1u);
    EXPECT_FALSE(write_file("/dev/fd/9999", "x"));
}

TEST_F(Files, FullDiskIsAnError) {
    const auto result = write_file("/dev/full", "content");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::system);
    EXPECT_EQ(exit_status(result.error()), 1);
}

TEST_F(Files, AMissingFolderIsAnError) {
    EXPECT_FALSE(write_file(folder / "no" / "such" / "file", "x"));
    EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, ADirectoryIsNeitherReadNorWritten) {
    const auto read = read_file(folder);
    ASSERT_FALSE(read);
    EXPECT_EQ(exit_status(read.error()), 2);
    EXPECT_NE(read.error().what.find("directory"), std::string::npos);
    EXPECT_FALSE(write_file(folder, "x"));
}

TEST_F(Files, AMissingFileSaysItsName) {
    const auto read = read_file(folder / "gone.json");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().what.find("gone.json"), std::string::npos);
}

TEST_F(Files, AFileOverTheLimitIsRefused) {
    ASSERT_TRUE(write_file(folder / "big", std::string(100'000, 'x')));
    EXPECT_FALSE(read_file(folder / "big", 50'000));
    EXPECT_TRUE(read_file(folder / "big", 100'000));
}

TEST_F(Files, ReadLineTakesTheFirstOrNothing) {
    std::ofstream(folder / "lines") << "one\ntwo\n";
    EXPECT_EQ(read_line(folder / "lines"), "one");
    EXPECT_EQ(read_line(folder / "none"), "");
}

}  // namespace
}  // namespace tmaprobe
