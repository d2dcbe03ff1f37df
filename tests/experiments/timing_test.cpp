#include "experiments/timing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tmaprobe::experiments {
namespace {

/// A clock that the workloads themselves move: each iteration takes as long as its workload says.
struct Stage {
    double now_ns = 0;
    std::string order;  ///< letters of the workloads in the order in which they ran
};

class FakeWorkload final : public counters::Workload {
  public:
    FakeWorkload(Stage& stage, char letter, double ns) : stage_(stage), letter_(letter), ns_(ns) {}
    void run(std::uint64_t iterations) override {
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

class FakeClock final : public counters::CounterSource {
  public:
    explicit FakeClock(Stage& stage) : stage_(stage) {}
    Result<> prepare(const counters::Plan&) override { return {}; }
    Result<counters::Sample> measure(counters::Workload& workload, counters::Repetition repetition) override {
        if (--left_ < 0) return fail(ErrorCode::system, "the clock stopped");
        const double begin = stage_.now_ns;
        workload.run(repetition.iterations);
        counters::Sample sample;
        sample.elapsed_ns = static_cast<std::uint64_t>(stage_.now_ns - begin);
        return sample;
    }
    record::Source describe() const override { return {}; }
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
    const auto timing = time_workload(clock, workload, {}, small(), {});
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
    EXPECT_EQ(time_workload(clock, workload, {}, small(), {})->repetitions.size(), 31U);
    TimingRequest brief = small();
    brief.budget_ns = 8e6;
    EXPECT_LT(time_workload(clock, workload, {}, brief, {})->repetitions.size(), 15U);
}

TEST(Timing, DoesNotTrustATightMedianOfDisturbedRepetitions) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    int seen = 0;
    const Bracket bracket{[] {}, [&] { return Surroundings{++seen > 8, "stranger", 3e9}; }};
    const auto timing = time_workload(clock, workload, bracket, small(), {});
    EXPECT_EQ(timing->repetitions.size(), 11U);  // eight disturbed, then the three that are needed
    const auto time = summarize_timing(*timing, {}, "load");
    EXPECT_EQ(time.clean, 3);
    EXPECT_EQ(time.disturbed, 8);
    EXPECT_EQ(time.ns_per_op.count, 3U);
}

TEST(Timing, IsNotFooledByOneInterruptionWhileItCalibrates) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload workload(stage, 'a', 10);
    workload.lose_the_cpu_once(5e6);
    const auto timing = time_workload(clock, workload, {}, small(), {});
    ASSERT_TRUE(timing);
    EXPECT_GE(static_cast<double>(timing->iterations) * 10, 0.5e6);
}

TEST(TimingInTurn, GivesEachAWarmUpAndTwoRepetitionsPerRound) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    const auto timings = time_in_turn(clock, {{&a, {}}, {&b, {}}}, small(), {});
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
    const auto timings = time_in_turn(clock, {{&a, {}}, {&b, {}}}, small(), {});
    EXPECT_EQ((*timings)[0].repetitions.size(), (*timings)[1].repetitions.size());
    EXPECT_EQ((*timings)[1].repetitions.size(), 31U);
}

TEST(TimingInTurn, DoesAsManyAsAskedFor) {
    Stage stage;
    FakeClock clock(stage);
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    TimingRequest three = small();
    three.repetitions = 3;
    const auto timings = time_in_turn(clock, {{&a, {}}, {&b, {}}}, three, {});
    EXPECT_EQ((*timings)[0].repetitions.size(), 3U);
    EXPECT_EQ((*timings)[1].repetitions.size(), 3U);
}

TEST(TimingInTurn, HandsOnTheClocksError) {
    Stage stage;
    FakeWorkload a(stage, 'a', 10), b(stage, 'b', 20);
    for (const int left : {0, 5, 20}) {
        FakeClock clock(stage);
        clock.left_ = left;
        EXPECT_EQ(time_in_turn(clock, {{&a, {}}, {&b, {}}}, small(), {}).error().what, "the clock stopped") << left;
    }
}

}  // namespace
}  // namespace tmaprobe::experiments
