#include "timing/canary.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

namespace tmaprobe::timing {
namespace {

using record::DisturbanceCause;

constexpr double elapsed_ns = 20e6;
const CanaryReading quiet{3e9, 3.9, 0, 1000, 1000};

CanaryLimits four_wide() {
    CanaryLimits limits;
    limits.expected_ipc = 3.9;
    return limits;
}

TEST(Canary, FindsAQuietRepetitionClean) {
    const Conditions verdict = judge(quiet, quiet, elapsed_ns, 3.9, four_wide());
    EXPECT_TRUE(verdict.clean());
    EXPECT_DOUBLE_EQ(verdict.clock_hz, 3e9);
}

TEST(Canary, SeesAStrangerOnTheSiblingThread) {
    CanaryReading shared = quiet;
    shared.ipc = 2.0;
    for (const auto& [before, after] : {std::pair{quiet, shared}, std::pair{shared, quiet}}) {
        const Conditions verdict = judge(before, after, elapsed_ns, 3.9, four_wide());
        ASSERT_FALSE(verdict.clean());
        EXPECT_EQ(verdict.disturbance->cause, DisturbanceCause::issue_slots_shared);
        EXPECT_NEAR(verdict.disturbance->size, 1 - 2.0 / 3.9, 1e-9);
    }
}

TEST(Canary, KnowsTheWidthOfACoreThatWasNeverAlone) {
    CanaryReading shared = quiet;
    shared.ipc = 2.0;
    EXPECT_FALSE(judge(shared, shared, elapsed_ns, 2.0, four_wide()).clean());
}

TEST(Canary, LearnsTheWidthOfANarrowCore) {
    CanaryReading narrow = quiet, shared = quiet;
    narrow.ipc = 2.0;
    shared.ipc = 1.0;
    EXPECT_TRUE(judge(narrow, narrow, elapsed_ns, 2.0, CanaryLimits{}).clean());
    EXPECT_FALSE(judge(narrow, shared, elapsed_ns, 2.0, CanaryLimits{}).clean());
}

TEST(Canary, SeesStolenTime) {
    CanaryReading later = quiet;
    later.steal_ns += 10'000'000;
    const Conditions verdict = judge(quiet, later, elapsed_ns, 3.9, four_wide());
    ASSERT_FALSE(verdict.clean());
    EXPECT_EQ(verdict.disturbance->cause, DisturbanceCause::stolen);
    EXPECT_NEAR(verdict.disturbance->size, 0.5, 1e-9);
}

TEST(Canary, SeesAnotherProcessOnTheCpu) {
    CanaryReading later = quiet;
    later.wait_ns += 4'000'000;
    const Conditions verdict = judge(quiet, later, elapsed_ns, 3.9, four_wide());
    ASSERT_FALSE(verdict.clean());
    EXPECT_EQ(verdict.disturbance->cause, DisturbanceCause::waited_for_cpu);
    EXPECT_EQ(describe(*verdict.disturbance), "waited for the CPU: had it 80% of the time");
    later.wait_ns = quiet.wait_ns + 100'000;  // half a percent
    EXPECT_TRUE(judge(quiet, later, elapsed_ns, 3.9, four_wide()).clean());
}

TEST(Canary, SeesTheClockMove) {
    CanaryReading slower = quiet;
    slower.clock_hz = 2.4e9;
    const Conditions verdict = judge(quiet, slower, elapsed_ns, 3.9, four_wide());
    ASSERT_FALSE(verdict.clean());
    EXPECT_EQ(verdict.disturbance->cause, DisturbanceCause::clock_changed);
    EXPECT_NEAR(verdict.disturbance->size, -0.2, 1e-9);
}

TEST(Canary, SeesAnActiveSiblingThatAddsNothing) {
    CanaryReading whole = quiet, halved = quiet;
    whole.overlap = 1.1;
    halved.overlap = 2.1;
    EXPECT_TRUE(judge(whole, whole, elapsed_ns, 3.9, four_wide()).clean());
    for (const auto& [before, after] : {std::pair{whole, halved}, std::pair{halved, whole}}) {
        const Conditions verdict = judge(before, after, elapsed_ns, 3.9, four_wide());
        ASSERT_FALSE(verdict.clean());
        EXPECT_EQ(verdict.disturbance->cause, DisturbanceCause::reorder_buffer_halved);
    }
}

/// A time and a list of readings that a bracket consumes.
struct Script {
    std::vector<CanaryReading> readings;
    std::size_t used = 0;
    double now = 0;
};

Bracket scripted(const std::shared_ptr<Script>& script) {
    return canary_bracket([script] { return script->readings.at(script->used++); }, [script] { return script->now; },
                          four_wide());
}

TEST(CanaryBracket, UsesAReadingTwiceWhenNothingLiesBetween) {
    const auto script = std::make_shared<Script>();
    script->readings.assign(10, quiet);
    const Bracket bracket = scripted(script);
    for (int repetition = 0; repetition < 3; ++repetition) {
        bracket.before();
        script->now += elapsed_ns;
        EXPECT_TRUE(bracket.after().clean());
    }
    EXPECT_EQ(script->used, 4U);
    script->now += 1e9;  // something else was done meanwhile: an old reading says nothing
    bracket.before();
    EXPECT_EQ(script->used, 5U);
}

TEST(CanaryBracket, TellsCleanFromDisturbedRepetitions) {
    const auto script = std::make_shared<Script>();
    CanaryReading shared = quiet;
    shared.ipc = 1.9;
    script->readings = {quiet, quiet, shared, quiet, quiet};
    const Bracket bracket = scripted(script);
    std::vector<bool> clean;
    for (int repetition = 0; repetition < 4; ++repetition) {
        bracket.before();
        script->now += elapsed_ns;
        clean.push_back(bracket.after().clean());
    }
    EXPECT_EQ(clean, (std::vector<bool>{true, false, false, true}));
}

TEST(CanaryBracket, IsEmptyUnderAnEmulator) {
    machine::Host host;
    host.is_emulated = true;
    EXPECT_FALSE(canary_bracket(host).before);
}

TEST(WatchedThreads, ThatNeverWaitLeaveTheVerdictAlone) {
    const auto script = std::make_shared<Script>();
    script->readings.assign(4, quiet);
    CanaryLimits limits;
    limits.waited_share = 1e6;  // this thread itself may wait while others use the machine
    const Bracket bracket = watch_threads(scripted(script), {gettid()}, {}, limits);
    bracket.before();
    script->now += elapsed_ns;
    EXPECT_TRUE(bracket.after().clean());
    EXPECT_EQ(script->used, 2U);
}

TEST(WatchedThreads, ThatWaitDisturb) {
    // A helper pinned to this thread's CPU must wait while this one spins.
    cpu_set_t old;
    ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::atomic<pid_t> helper{0};
    std::atomic<bool> stop{false};
    std::thread spinning([&] {
        helper = gettid();
        while (!stop) {
        }
    });
    while (!helper) std::this_thread::yield();
    const Bracket bracket = watch_threads({}, {helper});
    bracket.before();
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < until) {
    }
    const Conditions verdict = bracket.after();
    stop = true;
    spinning.join();
    sched_setaffinity(0, sizeof old, &old);
    if (!std::filesystem::exists("/proc/self/schedstat")) GTEST_SKIP() << "this kernel has no schedstat";
    ASSERT_FALSE(verdict.clean());
    EXPECT_EQ(verdict.disturbance->cause, DisturbanceCause::partner_waited);
    EXPECT_GT(verdict.disturbance->size, 0.1);
}

TEST(WatchedThreads, ThatAreNoneChangeNothing) { EXPECT_FALSE(watch_threads({}, {}).before); }

TEST(CanaryReading, OfThisMachineIsPlausible) {
    const CanaryReading reading = read_canary();
    EXPECT_GT(reading.clock_hz, 1e8);
    EXPECT_LT(reading.clock_hz, 1e10);
    EXPECT_GT(reading.ipc, 0.5);
    EXPECT_EQ(reading.overlap, 0);
}

}  // namespace
}  // namespace tmaprobe::timing
