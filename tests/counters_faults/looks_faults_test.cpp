#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "counters/perf/counter_set.h"
#include "counters/perf/time_profile.h"
#include "fake_kernel.h"

namespace tmaprobe::counters::perf {
namespace {

using test::FakeCount;
using test::FakeKernel;

/// Opens until cycles are given up: PEBS in three precisions, AMD's IBS where the kernel can leave things out of it,
/// and not precise ones, with virtual machines and without.
#if defined(__x86_64__)
constexpr int pebs_ways = 3;
#else
constexpr int pebs_ways = 0;
#endif
int precise_ways() {
    return pebs_ways + (std::filesystem::exists("/sys/bus/event_source/devices/ibs_op/format/swfilt") ? 1 : 0);
}
int all_ways() { return precise_ways() + 2; }
constexpr pid_t thread = 4711, other_thread = 4712;

std::vector<std::uint64_t> numbers_of_cycles() {
    std::vector<std::uint64_t> numbers{PERF_COUNT_HW_CPU_CYCLES};
    for (const machine::Pmu& pmu : known_core_pmus())
        numbers.push_back(PERF_COUNT_HW_CPU_CYCLES | static_cast<std::uint64_t>(pmu.type) << 32);
    return numbers;
}

/// How looks are taken at a thread whose cycles read so.
LooksBy looks_after(const FakeCount& cycles) {
    FakeKernel kernel;
    for (const std::uint64_t number : numbers_of_cycles()) kernel.script(number, {cycles});
    TimeProfile profile;
    profile.add(thread, thread);
    EXPECT_EQ(profile.by(), LooksBy::cycles);
    profile.read();
    EXPECT_EQ(profile.left_out(), 0u);
    return profile.by();
}

/// The most precise cycles that the kernel takes, where it refuses so many ways before.
unsigned precision_after(int refused, int error) {
    FakeKernel kernel;
    for (int way = 0; way < refused; ++way) kernel.fail("open", way, error);
    TimeProfile profile;
    profile.add(thread, thread);
    EXPECT_EQ(profile.by(), LooksBy::cycles);
    return profile.precision();
}

TEST(LooksFaults, AsPreciseAsTheKernelTakesIt) {
    if (pebs_ways > 0) {
        EXPECT_EQ(precision_after(0, 0), 3u);
        EXPECT_EQ(precision_after(1, EOPNOTSUPP), 2u);
        EXPECT_EQ(precision_after(2, EINVAL), 1u);
    }
    if (precise_ways() > pebs_ways) {
        EXPECT_EQ(precision_after(pebs_ways, EOPNOTSUPP), 2u) << "IBS";
    }
    EXPECT_EQ(precision_after(precise_ways(), EOPNOTSUPP), 0u);
    EXPECT_EQ(precision_after(precise_ways() + 1, EINVAL), 0u);
}

TEST(LooksFaults, TheTimerLooksWhereCyclesAreRefused) {
    for (const int error : {ENOENT, EOPNOTSUPP, EACCES, EPERM, EINVAL, EBUSY}) {
        FakeKernel kernel;
        for (const std::uint64_t number : numbers_of_cycles()) kernel.fail_config(number, error);
        TimeProfile profile;
        profile.add(thread, thread);
        EXPECT_EQ(kernel.calls("open"), all_ways() + 1);
        EXPECT_EQ(profile.by(), LooksBy::time);
        EXPECT_EQ(profile.precision(), 0u);
        EXPECT_EQ(profile.left_out(), 0u);
        // All threads are looked at alike, and nothing is tried again.
        profile.add(thread, other_thread);
        EXPECT_EQ(kernel.calls("open"), all_ways() + 2);
    }
}

TEST(LooksFaults, TheTimerLooksWhereARingIsRefused) {
    FakeKernel kernel;
    kernel.fail("mmap", 0, EPERM);
    TimeProfile profile;
    profile.add(thread, thread);
    EXPECT_EQ(profile.by(), LooksBy::time);
    EXPECT_EQ(profile.left_out(), 0u);
}

TEST(LooksFaults, NobodyLooksWhereAllIsRefused) {
    FakeKernel kernel;
    for (int nth = 0; nth < 4; ++nth) kernel.fail("mmap", nth, EPERM);
    TimeProfile profile;
    profile.add(thread, thread);
    profile.read();
    EXPECT_EQ(profile.left_out(), 1u);
    EXPECT_EQ(profile.taken(), 0u);
}

TEST(LooksFaults, AThreadThatIsOverDecidesNothing) {
    FakeKernel kernel;
    kernel.fail("open", 0, ESRCH);
    TimeProfile profile;
    profile.add(thread, thread);
    EXPECT_EQ(kernel.calls("open"), 1);
    EXPECT_EQ(profile.left_out(), 1u);
    profile.add(thread, other_thread);
    EXPECT_EQ(profile.by(), LooksBy::cycles);
    EXPECT_EQ(profile.left_out(), 1u);
}

TEST(LooksFaults, ALaterThreadThatIsRefusedIsLeftOut) {
    FakeKernel kernel;
    TimeProfile profile;
    profile.add(thread, thread);
    kernel.fail("open", kernel.calls("open"), EMFILE);
    profile.add(thread, other_thread);
    EXPECT_EQ(profile.by(), LooksBy::cycles);
    EXPECT_EQ(profile.left_out(), 1u);
}

TEST(LooksFaults, WithoutACounterTheTimerGoesOn) {
    EXPECT_EQ(looks_after({0, 30'000'000, 0, 0, 24}), LooksBy::time) << "somebody else has all counters";
    EXPECT_EQ(looks_after({0, 5'000'000, 0, 0, 24}), LooksBy::cycles) << "its turn may come yet";
    EXPECT_EQ(looks_after({40'000'000, 30'000'000, 30'000'000, 0, 24}), LooksBy::time) << "interrupts do not arrive";
    EXPECT_EQ(looks_after({1'000'000, 30'000'000, 30'000'000, 0, 24}), LooksBy::cycles)
        << "it was in the kernel most of the time";
    EXPECT_EQ(looks_after({0, 0, 0, EIO, 24}), LooksBy::time);
    EXPECT_EQ(looks_after({0, 0, 0, 0, 0}), LooksBy::time) << "end of file";
}

TEST(LooksFaults, EveryErrnoAtEveryCall) {
    const auto open_files = [] {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
        return count;
    };
    (void)known_core_pmus();
    for (const std::string kind : {"open", "ioctl", "read", "mmap"})
        for (int nth = 0; nth < 4; ++nth)
            for (int error = 1; error <= 133; ++error) {
                SCOPED_TRACE(kind + " " + std::to_string(nth) + ": " + std::strerror(error));
                const std::size_t before = open_files();
                {
                    FakeKernel kernel;
                    kernel.fail(kind, nth, error);
                    TimeProfile profile;
                    for (const pid_t one : {thread, other_thread}) profile.add(thread, one);
                    profile.read();
                    profile.read();
                    EXPECT_LE(profile.left_out(), 1u);
                    EXPECT_TRUE(profile.looks().empty());
                }
                ASSERT_EQ(open_files(), before);
            }
}

}  // namespace
}  // namespace tmaprobe::counters::perf
