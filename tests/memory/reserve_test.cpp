#include "memory/reserve.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"

namespace tmaprobe::memory {
namespace {

namespace fs = std::filesystem;

class Pool : public ::testing::Test {
  protected:
    Pool() {
        root_ = fs::temp_directory_path() / ("tmaprobe-reserve-" + std::to_string(::getpid()));
        fs::remove_all(root_);
        files_.sys = root_ / "sys";
        files_.proc = root_ / "proc";
        folder_ = files_.sys / "kernel/mm/hugepages/hugepages-2048kB";
        fs::create_directories(folder_);
        for (const char* name : {"nr_hugepages", "free_hugepages", "resv_hugepages"})
            set(name, name == std::string("resv_hugepages") ? 0 : 4);
    }
    ~Pool() override { fs::remove_all(root_); }

    void set(const std::string& name, int value) const { std::ofstream(folder_ / name) << value << "\n"; }
    std::string total() const { return read_line(folder_ / "nr_hugepages"); }
    PoolNeed pages(std::uint64_t count) const { return {{"2m", 2U << 20, true, false}, count, std::nullopt}; }
    /// Waits for what another process does.
    bool becomes(const std::string& value) const {
        for (int tries = 0; tries < 2000; ++tries) {
            if (total() == value) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return false;
    }

    fs::path root_, folder_;
    SystemFiles files_;
};

TEST_F(Pool, IsRaisedAndLoweredAgain) {
    auto reserved = ReservedPages::reserve({pages(10)}, files_);
    ASSERT_TRUE(reserved) << reserved.error().what;
    EXPECT_EQ(total(), "10");
    ASSERT_EQ(reserved->changes().size(), 1U);
    EXPECT_EQ(reserved->changes()[0].pages, "2m");
    EXPECT_EQ(reserved->changes()[0].from, 4U);
    EXPECT_EQ(reserved->changes()[0].to, 10U);
    EXPECT_TRUE(reserved->give_back());
    EXPECT_EQ(total(), "4");
    EXPECT_TRUE(reserved->give_back());  // nothing is left to give
    EXPECT_EQ(total(), "4");
}

TEST_F(Pool, ThatHasEnoughIsLeftAlone) {
    const auto reserved = ReservedPages::reserve({pages(4)}, files_);
    ASSERT_TRUE(reserved);
    EXPECT_TRUE(reserved->changes().empty());
    EXPECT_EQ(total(), "4");
}

TEST_F(Pool, IsLoweredWhenItsOwnerGoesOutOfScopeOrIsMoved) {
    {
        ReservedPages kept;
        {
            auto reserved = ReservedPages::reserve({pages(6)}, files_);
            ASSERT_TRUE(reserved);
            kept = std::move(*reserved);
        }
        EXPECT_EQ(total(), "6");
    }
    EXPECT_EQ(total(), "4");
}

TEST_F(Pool, KeepsWhatOthersHaveAddedMeanwhile) {
    auto reserved = ReservedPages::reserve({pages(6)}, files_);
    ASSERT_TRUE(reserved);
    set("nr_hugepages", 16);
    ASSERT_TRUE(reserved->give_back());
    EXPECT_EQ(total(), "14");
}

TEST_F(Pool, IsLoweredWhenTheRunIsKilled) {
    for (const int signal : {SIGKILL, SIGINT, SIGTERM}) {
        const pid_t measuring = ::fork();
        ASSERT_GE(measuring, 0);
        if (measuring == 0) {
            ::signal(signal, SIG_DFL);
            const auto reserved = ReservedPages::reserve({pages(9)}, files_);
            if (!reserved) ::_exit(1);
            ::pause();
            ::_exit(0);
        }
        EXPECT_TRUE(becomes("9")) << signal;
        ::kill(measuring, signal);
        ::waitpid(measuring, nullptr, 0);
        EXPECT_TRUE(becomes("4")) << signal;
    }
}

TEST_F(Pool, IsLoweredThoughAForkedChildLivesOn) {
    const pid_t measuring = ::fork();
    ASSERT_GE(measuring, 0);
    if (measuring == 0) {
        const auto reserved = ReservedPages::reserve({pages(9)}, files_);
        if (!reserved) ::_exit(1);
        if (::fork() == 0) {
            ::sleep(20);
            ::_exit(0);
        }
        ::pause();
        ::_exit(0);
    }
    EXPECT_TRUE(becomes("9"));
    ::kill(measuring, SIGKILL);
    ::waitpid(measuring, nullptr, 0);
    EXPECT_TRUE(becomes("4"));
}

TEST_F(Pool, ThatTheKernelCannotFillIsLoweredAtOnce) {
    // Reads 0 and refuses more than 1000, as a pool does for which no memory is left.
    const fs::path refusing = "/proc/self/oom_score_adj";
    if (read_line(refusing) != "0" || ::access(refusing.c_str(), W_OK) != 0)
        GTEST_SKIP() << refusing << " is not as this test needs it";
    PoolNeed second{{"1g", 1U << 30, true, false}, 2000, std::nullopt};
    const fs::path other = files_.sys / "kernel/mm/hugepages/hugepages-1048576kB";
    fs::create_directories(other);
    for (const char* name : {"free_hugepages", "resv_hugepages"}) std::ofstream(other / name) << "0\n";
    fs::create_symlink(refusing, other / "nr_hugepages");
    const auto refused = ReservedPages::reserve({pages(6), second}, files_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "--reserve-pages: 0 of the 2000 pages of 1g could be reserved");
    EXPECT_EQ(total(), "4");
}

TEST_F(Pool, ThatMayNotBeWrittenNeedsRoot) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
    fs::permissions(folder_ / "nr_hugepages", fs::perms::owner_read);
    const auto refused = ReservedPages::reserve({pages(6)}, files_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::no_permission);
    EXPECT_NE(refused.error().hint.find("echo 6 | sudo tee"), std::string::npos);
}

}  // namespace
}  // namespace tmaprobe::memory
