#include "kernels/team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

namespace tmaprobe::kernels {
namespace {

int some_cpu() { return ::sched_getcpu(); }

}  // namespace

TEST(Team, EveryMemberWorksOncePerRun) {
    auto team = Team::start({some_cpu(), some_cpu(), some_cpu()});
    ASSERT_TRUE(team);
    std::atomic<int> sum{0};
    for (int i = 0; i < 200; ++i) (*team)->run([&](std::size_t member) { sum += 1 << (8 * member); });
    EXPECT_EQ(sum.load() & 0xff, 200);
    EXPECT_EQ(sum.load() >> 8 & 0xff, 200);
    EXPECT_EQ(sum.load() >> 16, 200);
}

TEST(Team, MembersAreBoundAndKnownByTheirThreadIds) {
    const int cpu = some_cpu();
    auto team = Team::start({cpu, cpu});
    ASSERT_TRUE(team);
    pid_t seen = 0;
    int ran_on = -1;
    (*team)->run([&](std::size_t member) {
        if (member == 1) seen = ::gettid(), ran_on = ::sched_getcpu();
    });
    EXPECT_EQ((*team)->thread_ids(), std::vector<pid_t>{seen});
    EXPECT_EQ(ran_on, cpu);
}

TEST(Team, OfOneRunsInTheCaller) {
    auto team = Team::start({});
    ASSERT_TRUE(team);
    pid_t seen = 0;
    (*team)->run([&](std::size_t) { seen = ::gettid(); });
    EXPECT_EQ(seen, ::gettid());
    EXPECT_TRUE((*team)->thread_ids().empty());
}

TEST(Team, RefusesACpuThatIsNotThere) {
    const auto team = Team::start({some_cpu(), 500'000});
    ASSERT_FALSE(team);
    EXPECT_EQ(team.error().code, ErrorCode::bad_usage);
    EXPECT_NE(team.error().what.find("500000"), std::string::npos);
}

TEST(Team, WorksInAForkedChildToo) {
    auto team = Team::start({some_cpu(), some_cpu()});
    ASSERT_TRUE(team);
    (*team)->run([](std::size_t) {});
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::alarm(20);  // instead of hanging for ever
        std::atomic<int> members{0};
        (*team)->run([&](std::size_t) { ++members; });
        (*team)->run([&](std::size_t) { ++members; });
        ::_exit(members.load() == 4 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    std::atomic<int> members{0};
    (*team)->run([&](std::size_t) { ++members; });
    EXPECT_EQ(members.load(), 2);
}

}  // namespace tmaprobe::kernels
