#include "process/running_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/file.h"

namespace tmaprobe::process {
namespace {

TEST(UsedBy, AThreadHasUsedMoreWhenItStopped) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < 20'000'000; ++i) {
            sum += i * i;
            asm volatile("" : "+r"(sum));
        }
        ::kill(::getpid(), SIGSTOP);
        ::_exit(0);
    }
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED), 0);
    const auto used = used_by(child, child);
    ASSERT_TRUE(used);
    EXPECT_GT(*used, 1'000'000u);
    EXPECT_EQ(used_by(child, child), used) << "while it stands";
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(used_by(child, child));
}

TEST(HasEnded, AZombieHas) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(has_ended(child));
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_TRUE(has_ended(child)) << "and one that is gone";
}

TEST(HasEnded, AProcessWhoseFirstThreadEndedHasNot) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        pthread_t thread;
        ::pthread_create(
            &thread, nullptr,
            [](void* end) -> void* {
                // Until the test closes its end.
                char byte = 0;
                while (::read(*static_cast<int*>(end), &byte, 1) < 0) {
                }
                ::_exit(0);
            },
            &pipe_ends[0]);
        ::close(pipe_ends[1]);
        ::syscall(SYS_exit, 0);  // of this thread alone
    }
    const std::string first = "/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/stat";
    while (read_line(first).find(") Z") == std::string::npos) ::usleep(1000);
    EXPECT_FALSE(has_ended(child));
    ::close(pipe_ends[1]);
    ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace tmaprobe::process
