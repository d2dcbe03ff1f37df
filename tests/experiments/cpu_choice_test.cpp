#include "experiments/cpu_choice.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace tmaprobe::experiments {
namespace {

timing::CanaryLimits four_wide() {
    timing::CanaryLimits limits;
    limits.expected_ipc = 3.9;
    return limits;
}

CpuLook look(int cpu, double busy = 0, double ipc = 3.9, double overlap = 1.1) {
    CpuLook made{cpu, true, busy, {}};
    made.reading.ipc = ipc;
    made.reading.overlap = overlap;
    return made;
}

TEST(CpuChoice, KeepsTheUsualOneWhereAllAreQuiet) {
    const std::vector<CpuLook> looks{look(1, 0.1), look(0, 0.0)};
    EXPECT_EQ(quietest_first(looks, four_wide()), (std::vector<int>{1, 0}));
    EXPECT_EQ(why_chosen(1, looks, four_wide()), "");
}

TEST(CpuChoice, LeavesABusyOne) {
    const std::vector<CpuLook> looks{look(1, 0.97), look(0, 0.1)};
    EXPECT_EQ(quietest_first(looks, four_wide()), (std::vector<int>{0, 1}));
    EXPECT_EQ(why_chosen(0, looks, four_wide()), "CPU 0 is used: CPU 1 is busy 97% of the time");
}

TEST(CpuChoice, LeavesACoreThatIsShared) {
    const std::vector<CpuLook> looks{look(1, 0, 2.1), look(3, 0, 3.9, 2.1), look(0)};
    EXPECT_EQ(quietest_first(looks, four_wide()).front(), 0);
    EXPECT_EQ(why_chosen(0, looks, four_wide()), "CPU 0 is used: another hyperthread of CPU 1's core is busy");
}

TEST(CpuChoice, TakesLastWhatCouldNotBeLookedAt) {
    CpuLook unseen;
    unseen.cpu = 1;
    EXPECT_EQ(quietest_first({unseen, look(0, 0.5)}, four_wide()), (std::vector<int>{0, 1}));
}

TEST(CpuChoice, SeesABusyLoopOnThisMachine) {
    const auto topology = machine::detect_topology();
    std::vector<int> cpus;
    for (const auto& place : topology.cpus)
        if (place.allowed) cpus.push_back(place.cpu);
    if (cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU";
    std::atomic<bool> stop{false}, ready{false};
    std::thread busy([&] {
        static_cast<void>(machine::pin_this_thread(cpus[0]));
        ready = true;
        while (!stop) {
        }
    });
    while (!ready) std::this_thread::yield();
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    const auto looks = look_at_cpus({cpus[0], cpus[1]}, machine::detect());
    sched_getaffinity(0, sizeof after, &after);
    stop = true;
    busy.join();
    // The busy one is busy whatever else runs; the other may be so too.
    EXPECT_TRUE(looks[0].looked);
    EXPECT_GT(looks[0].busy_share, 0.5);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace tmaprobe::experiments
