#include "counters/perf/time_profile.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace tmaprobe::counters::perf {
namespace {

double used_ns() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

/// The loop that takes the time; not inlined, so that where it lies is known.
[[gnu::noinline]] void spend(double ns, volatile std::uint64_t& turns) {
    for (const double end = used_ns() + ns; used_ns() < end;)
        for (int i = 0; i < 1'000'000; ++i) turns = turns + 1;
}

TEST(TimeProfile, SeesWhereTimeIsSpent) {
    TimeProfile profile;
    const auto thread = static_cast<pid_t>(::syscall(SYS_gettid));
    profile.add(::getpid(), thread);
    profile.add(::getpid(), thread);  // once
    volatile std::uint64_t turns = 0;
    spend(0.2e9, turns);
    profile.read();
    const auto found = profile.looks().find(::getpid());
    if (found == profile.looks().end()) GTEST_SKIP() << "no software events here: nothing is looked at";
    const auto begin = reinterpret_cast<std::uint64_t>(&spend);
    std::uint64_t there = 0, all = 0;
    for (const auto& [address, times] : found->second) {
        all += times;
        constexpr std::uint64_t longest_function = 4096;
        if (address - begin < longest_function) there += times;
    }
    EXPECT_GT(all, 20u) << "looks in a fifth of a second";
    EXPECT_LT(all, 400u) << "one a millisecond";
    EXPECT_GT(there, all / 2);
}

/// What looks count in all, those outside the loop too.
double counted(const TimeProfile& profile) {
    double sum = 0;
    for (const auto& [process, looks] : profile.looks())
        for (const auto& [address, times] : looks) sum += static_cast<double>(times);
    return sum;
}

// Some hundred looks, and then some of which each stands for two.
TEST(TimeProfile, UnequalLooksTellAsMuchAsFewerThatAreAlike) {
    TimeProfile profile;
    profile.add(::getpid(), static_cast<pid_t>(::syscall(SYS_gettid)));
    EXPECT_EQ(profile.weight_of_a_look(), 1) << "before any";
    volatile std::uint64_t turns = 0;
    spend(0.05e9, turns);
    profile.read();
    if (profile.taken() == 0) GTEST_SKIP() << "no events here: nothing is looked at";
    const std::uint64_t apart = profile.furthest_apart();
    for (int tenth = 0; tenth < 100 && profile.weight_of_a_look() == 1; ++tenth) {
        EXPECT_EQ(profile.furthest_apart(), apart);
        spend(0.1e9, turns);
        profile.read();
    }
    EXPECT_GT(profile.furthest_apart(), apart);
    const double all = counted(profile), twice = all - static_cast<double>(profile.taken()), once = all - 2 * twice;
    EXPECT_DOUBLE_EQ(profile.weight_of_a_look(), (once + 4 * twice) / all);
    EXPECT_GT(twice, 0);
}

TEST(TimeProfile, OfNobodyNothingIsSeen) {
    TimeProfile profile;
    profile.add(0x7ffffff0, 0x7ffffff0);
    profile.read();
    EXPECT_TRUE(profile.looks().empty());
}

}  // namespace
}  // namespace tmaprobe::counters::perf
