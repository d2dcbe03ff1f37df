#include "timing/timing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tmaprobe::timing {
namespace {

/// A clock that the workloads themselves move: each iteration takes as long as its workload says.
struct Stage {
    double now_ns = 0;
    std::string order;  ///< letters of the workloads in the order in which they ran
};

class FakeWorkload {
  public:
    FakeWorkload(Stage& stage, char letter, double ns) : stage_(stage), letter_(letter), ns_(ns) {}
    void run(std::uint64_t iterations) {
        stage_.order += letter_;
        stage_.now_ns += std::exchange(lost_ns_, 0);
        stage_.now_ns += ns_ * static_cast<double>(iterations) * (1 + noise_ * static_cast<double>(++runs_ % 3));
    }
    void make_noisy(double noise) { noise_ = noise; }
    void lose_the_cpu_once(double ns) { lost_ns_ = ns; }

  private:
    Stage& stage_;
    char letter_;
    double ns_, noise_ = 0, lost_ns_ = 0;
    int runs_ = 0;
};

class FakeClock {
  public:
    explicit FakeClock(Stage& stage) : stage_(stage) {}
    TimedRegion region(FakeWorkload& workload) {
        return {[this, &workload](std::uint64_t iterations) -> Result<Elapsed> {
            if (--left_ < 0) return fail(ErrorCode::system, "the clock stopped");
            const double begin = stage_.now_ns;
            workload.run(iterations);
            return Elapsed{stage_.now_ns - begin, 0};
        }};
    }
    int left_ = 1 << 20;

  private:
    Stage& stage_;
};

TimingRequest small() {
    TimingRequest request;
    request.least = 5;
    request.most = 31;
    request.repetition_ns = 1e6;
    request.budget_ns = 1e9;
    return request;
}

TEST(Timing, EndsWhenTheMedianIsTight) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    const auto timing = time_region(clock.region(workload), {}, small(), {});
    ASSERT_TRUE(timing);
    EXPECT_EQ(timing->repetitions.size(), 5U);
    EXPECT_NEAR(timing->repetitions[0].ns_per_iteration, 10, 0.01);
    EXPECT_GE(static_cast<double>(timing->iterations) * 10, 1e6);
}

TEST(Timing, GoesOnWhileItIsLooseAndStopsAtItsBudget) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    workload.make_noisy(0.3);
    EXPECT_EQ(time_region(clock.region(workload), {}, small(), {})->repetitions.size(), 31U);
    TimingRequest brief = small();
    brief.budget_ns = 8e6;
    EXPECT_LT(time_region(clock.region(workload), {}, brief, {})->repetitions.size(), 15U);
}

TEST(Timing, DoesNotTrustATightMedianOfDisturbedRepetitions) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    int seen = 0;
    const Bracket bracket{[] {},
                          [&] {
                              Conditions around;
                              around.clock_hz = 3e9;
                              if (++seen <= 8)
                                  around.disturbance =
                                      record::Disturbance{record::DisturbanceCause::issue_slots_shared, 0.4};
                              return around;
                          }};
    const auto timing = time_region(clock.region(workload), bracket, small(), {});
    EXPECT_EQ(timing->repetitions.size(), 11U);  // eight disturbed, then the three that are needed
    const auto time = summarize_timing(*timing, {}, "load");
    EXPECT_EQ(time.clean, 3);
    EXPECT_EQ(time.disturbed, 8);
    EXPECT_EQ(time.ns_per_op.count, 3U);
}

TEST(Timing, WaitsLongerForCleanRepetitionsThanForATightMedian) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    int seen = 0;
    const Bracket bracket{[] {},
                          [&] {
                              Conditions around;
                              if (++seen <= 50)
                                  around.disturbance = record::Disturbance{record::DisturbanceCause::stolen, 0.4};
                              return around;
                          }};
    const auto timing = time_region(clock.region(workload), bracket, small(), {});
    EXPECT_EQ(timing->repetitions.size(), 53U);
    TimingRequest asked = small();
    asked.repetitions = 4;
    seen = 0;
    EXPECT_EQ(time_region(clock.region(workload), bracket, asked, {})->repetitions.size(), 4U);
}

TEST(Timing, DoesNotCallDisturbedWhatIsPartOfTheExperiment) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    const Bracket bracket{[] {},
                          [] {
                              Conditions around;
                              around.disturbance =
                                  record::Disturbance{record::DisturbanceCause::reorder_buffer_halved, 0.5};
                              return around;
                          }};
    TimingRequest request = small();
    request.repetitions = 5;
    EXPECT_EQ(summarize_timing(*time_region(clock.region(workload), bracket, request, {}), {}, "load").clean, 0);
    request.expected = {record::DisturbanceCause::reorder_buffer_halved};
    EXPECT_EQ(summarize_timing(*time_region(clock.region(workload), bracket, request, {}), {}, "load").clean, 5);
}

Conditions around_waiting(double waited_ns) {
    Conditions around;
    around.waited_ns = waited_ns;
    return around;
}

TEST(JudgeTime, TellsWaitingFromInterruptionsByWhatTheSchedulerSays) {
    const auto waited = judge_time(around_waiting(97e6), 100e6, 3e6);
    ASSERT_TRUE(waited.disturbance);
    EXPECT_EQ(waited.disturbance->cause, record::DisturbanceCause::waited_for_cpu);
    EXPECT_EQ(record::describe(*waited.disturbance), "waited for the CPU: had it 3% of the time");
    const auto interrupted = judge_time({}, 100e6, 90e6);
    ASSERT_TRUE(interrupted.disturbance);
    EXPECT_EQ(interrupted.disturbance->cause, record::DisturbanceCause::interrupted);
    EXPECT_NEAR(interrupted.disturbance->size, 0.1, 1e-9);
}

TEST(JudgeTime, BelievesTheThreadsOwnClock) {
    EXPECT_TRUE(judge_time({}, 100e6, 99.5e6).clean());
    EXPECT_TRUE(judge_time({}, 100e6, 0).clean());  // not known
    // It waited beside the repetition, not in it.
    Conditions around = around_waiting(5e6);
    around.disturbance = record::Disturbance{record::DisturbanceCause::waited_for_cpu, 0.05};
    EXPECT_TRUE(judge_time(around, 100e6, 100e6).clean());
    around.disturbance = record::Disturbance{record::DisturbanceCause::clock_changed, 0.05};
    EXPECT_FALSE(judge_time(around, 100e6, 100e6).clean());
}

/// Repetitions of 10 ms of work each, which had the CPU for a share of the time.
Timing waiting(std::initializer_list<double> shares) {
    Timing timing;
    for (const double share : shares) {
        TimedRepetition repetition{10e6 / share, 10e6, {}};
        repetition.conditions.clock_hz = 3e9;
        if (share < 1)
            repetition.conditions.disturbance =
                record::Disturbance{record::DisturbanceCause::waited_for_cpu, 1 - share};
        timing.repetitions.push_back(repetition);
    }
    return timing;
}

TEST(SummarizeTiming, LeavesOutWhatTheThreadWaited) {
    IterationWork work;
    work.operations = 1e6;
    work.bytes = 64e6;
    const auto busy = summarize_timing(waiting({0.5, 0.03, 0.4, 1, 0.5}), work, "line");
    EXPECT_EQ(busy.clock, record::ClockKind::processor);
    EXPECT_EQ(busy.clean, 1);
    EXPECT_NEAR(busy.ns_per_op.median, 10, 1e-9);
    EXPECT_NEAR(busy.ns_per_op.max, 10, 1e-9);
    EXPECT_NEAR(busy.cycles_per_byte, 30.0 / 64, 1e-9);
    ASSERT_EQ(busy.causes.size(), 1U);
    EXPECT_EQ(busy.causes[0].repetitions, 4);
    EXPECT_NEAR(busy.causes[0].most, 0.97, 1e-9);
    const auto enough = summarize_timing(waiting({0.5, 1, 1, 1}), work, "line");
    EXPECT_EQ(enough.clock, record::ClockKind::wall);
    EXPECT_EQ(enough.ns_per_op.count, 3U);
}

TEST(SummarizeTiming, GivesNoCyclesOfTimeThatHoldsWaiting) {
    Timing timing = waiting({0.5, 0.4});
    timing.one_thread = false;
    const auto time = summarize_timing(timing, {}, "line");
    EXPECT_EQ(time.clock, record::ClockKind::wall);
    EXPECT_EQ(time.cycles_per_op.count, 0U);
    EXPECT_EQ(time.cycles_per_byte, 0);
}

TEST(Timing, IsNotFooledByOneInterruptionWhileItCalibrates) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    workload.lose_the_cpu_once(5e6);
    const auto timing = time_region(clock.region(workload), {}, small(), {});
    ASSERT_TRUE(timing);
    EXPECT_GE(static_cast<double>(timing->iterations) * 10, 0.5e6);
}

TEST(TimingInTurn, GivesEachAWarmUpAndTwoRepetitionsPerRound) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    const auto timings = time_in_turn({{clock.region(a), {}}, {clock.region(b), {}}}, small(), {});
    ASSERT_TRUE(timings);
    ASSERT_EQ(timings->size(), 2U);
    EXPECT_EQ((*timings)[0].repetitions.size(), 6U);
    EXPECT_EQ((*timings)[1].repetitions.size(), 6U);
    EXPECT_NEAR((*timings)[1].repetitions[3].ns_per_iteration, 20, 0.01);
    EXPECT_TRUE(stage.order.ends_with("aaabbbaaabbbaaabbb")) << stage.order;
}

TEST(TimingInTurn, WaitsForTheLooserOne) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    b.make_noisy(0.3);
    const auto timings = time_in_turn({{clock.region(a), {}}, {clock.region(b), {}}}, small(), {});
    EXPECT_EQ((*timings)[0].repetitions.size(), (*timings)[1].repetitions.size());
    EXPECT_EQ((*timings)[1].repetitions.size(), 31U);
}

TEST(TimingInTurn, DoesAsManyAsAskedFor) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    TimingRequest three = small();
    three.repetitions = 3;
    const auto timings = time_in_turn({{clock.region(a), {}}, {clock.region(b), {}}}, three, {});
    EXPECT_EQ((*timings)[0].repetitions.size(), 3U);
    EXPECT_EQ((*timings)[1].repetitions.size(), 3U);
}

TEST(TimingInTurn, HandsOnTheClocksError) {
    Stage stage;
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    for (const int left : {0, 5, 20}) {
        FakeClock clock(stage);
        clock.left_ = left;
        EXPECT_EQ(time_in_turn({{clock.region(a), {}}, {clock.region(b), {}}}, small(), {}).error().what,
                  "the clock stopped")
            << left;
    }
}

}  // namespace
}  // namespace tmaprobe::timing
