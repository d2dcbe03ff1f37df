#include "trace/copy_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "tests/trace/ended_copy.h"

#if defined(__x86_64__)
namespace tmaprobe::trace {
namespace {

/// A folder with a file in it, for one test.
struct Folder {
    std::string path = ::testing::TempDir() + "copy_files_" + std::to_string(::getpid());
    std::string file = path + "/file", other = path + "/other";
    const std::string text = "what is in it";

    Folder() {
        std::filesystem::create_directory(path);
        EXPECT_TRUE(write_file(file, text));
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path); }
};

/// The next number that a program that was started now would get.
int next_number() {
    const int next = ::dup(STDERR_FILENO);
    ::close(next);
    return next;
}

TEST(CopyFiles, AreReadByTheCopyItself) {
    const Folder folder;
    const int next = next_number();
    EXPECT_EQ(ending_of([&] {
                  char text[64] = {};
                  struct stat status{};
                  const int file = ::open(folder.file.c_str(), O_RDONLY | O_CLOEXEC);
                  fail_unless(file == next);
                  fail_unless(::fstat(file, &status) == 0 && S_ISREG(status.st_mode));
                  const std::size_t bytes = static_cast<std::size_t>(status.st_size);
                  fail_unless(::read(file, text, sizeof text) == static_cast<ssize_t>(bytes));
                  fail_unless(std::memcmp(text, folder.text.data(), bytes) == 0);
                  fail_unless(::lseek(file, 5, SEEK_SET) == 5 && ::read(file, text, 2) == 2 && text[0] == 'i');
                  const void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
                  fail_unless(mapped != MAP_FAILED && std::memcmp(mapped, folder.text.data(), bytes) == 0);
                  fail_unless(::close(file) == 0);
                  fail_unless(::open(folder.file.c_str(), O_RDONLY) == next);
              }),
              EndedBy::exits);
}

TEST(CopyFiles, ThatAreNotThereAreNotThereForTheCopy) {
    const Folder folder;
    EXPECT_EQ(ending_of([&] {
                  struct stat status{};
                  fail_unless(::open(folder.other.c_str(), O_RDONLY) == -1 && errno == ENOENT);
                  fail_unless(::stat(folder.other.c_str(), &status) == -1 && errno == ENOENT);
                  fail_unless(::access(folder.file.c_str(), R_OK) == 0);
                  fail_unless(::close(63) == -1 && errno == EBADF);
              }),
              EndedBy::exits);
}

TEST(CopyFiles, AreNeitherMadeNorWritten) {
    const Folder folder;
    const auto write_to = [](const std::string& path, int flags) {
        struct stat status{};
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | flags, 0600);
        fail_unless(file >= 0 && ::write(file, "gone", 4) == 4);
        fail_unless(::fstat(file, &status) == 0 && status.st_size == 4);
        fail_unless(::lseek(file, 0, SEEK_END) == 4 && ::ftruncate(file, 2) == 0);
        fail_unless(::close(file) == 0);
    };
    EXPECT_EQ(ending_of([&] { write_to(folder.other, O_EXCL); }), EndedBy::exits);
    EXPECT_FALSE(std::filesystem::exists(folder.other));
    EXPECT_EQ(ending_of([&] { write_to(folder.file, O_TRUNC); }), EndedBy::exits);
    EXPECT_EQ(read_file(folder.file), folder.text);
    EXPECT_EQ(ending_of([&] { static_cast<void>(!::open(folder.file.c_str(), O_RDWR)); }), EndedBy::files);
    EXPECT_EQ(ending_of([&] { static_cast<void>(!::open(folder.other.c_str(), O_RDWR | O_CREAT, 0600)); }),
              EndedBy::files);
    EXPECT_EQ(ending_of([&] { static_cast<void>(!::unlink(folder.file.c_str())); }), EndedBy::files);
    EXPECT_EQ(read_file(folder.file), folder.text);
}

TEST(CopyFiles, OfTheOriginalKeepTheirPlace) {
    const Folder folder;
    const int file = ::open(folder.file.c_str(), O_RDONLY);
    EXPECT_EQ(ending_of([&] {
                  char text[16] = {};
                  fail_unless(::lseek(file, 5, SEEK_SET) == 5 && ::read(file, text, 2) == 2 && text[0] == 'i');
                  fail_unless(::lseek(file, 0, SEEK_END) == static_cast<off_t>(folder.text.size()));
                  fail_unless(::close(file) == 0 && ::read(file, text, 1) == -1);
              }),
              EndedBy::reads);
    EXPECT_EQ(::lseek(file, 0, SEEK_CUR), 0);
    ::close(file);
}

TEST(CopyFiles, ThatSomebodyWouldTakeNoticeOfEndIt) {
    const Folder folder;
    const std::string fifo = folder.path + "/fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(ending_of([&] { static_cast<void>(!::open(fifo.c_str(), O_RDONLY)); }), EndedBy::files);
    EXPECT_EQ(ending_of([] { static_cast<void>(!::open("/proc/kmsg", O_RDONLY | O_NONBLOCK)); }), EndedBy::files);
    EXPECT_EQ(ending_of([] { static_cast<void>(!::open("/proc/self/mem", O_RDONLY)); }), EndedBy::files);
    EXPECT_EQ(ending_of([] { fail_unless(::open("/proc/self/status", O_RDONLY) >= 0); }), EndedBy::exits);
    EXPECT_EQ(ending_of([] { fail_unless(::open("/dev/null", O_RDWR) >= 0); }), EndedBy::exits);
}

TEST(CopyFiles, HaveNoOtherEnd) {
    const Folder folder;
    EXPECT_EQ(ending_of([] {
                  int ends[2] = {-1, -1};
                  char byte = 0;
                  fail_unless(::pipe(ends) == 0 && ends[1] > ends[0]);
                  fail_unless(::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && ::isatty(ends[0]) == 0);
                  fail_unless(::write(ends[1], &byte, 1) == 1);
                  fail_unless(::read(ends[0], &byte, 1) == 0);
              }),
              EndedBy::reads);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, folder.other.c_str(), sizeof address.sun_path - 1);
    const auto ask = [&address] {
        const int asks = ::socket(AF_UNIX, SOCK_STREAM, 0);
        return ::connect(asks, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    };
    EXPECT_EQ(ending_of([&] { fail_unless(ask() == -1 && errno == ENOENT); }), EndedBy::exits);
    const int listens = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ASSERT_EQ(::bind(listens, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listens, 1), 0);
    EXPECT_EQ(ending_of([&] { ask(); }), EndedBy::files);
    EXPECT_EQ(::accept(listens, nullptr, nullptr), -1) << "it was asked by a copy";
    ::close(listens);
}

}  // namespace
}  // namespace tmaprobe::trace
#endif
