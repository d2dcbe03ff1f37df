#include <gmock/gmock.h>

#include "experiments/measure_parts.h"
#include "experiments/workloads.h"
#include "judge/assess.h"

namespace tmaprobe::experiments {
namespace {

using record::Status;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::SizeIs;

/// Counts 1000 of everything, and keeps what it was asked.
class InventedSource final : public counters::CounterSource {
  public:
    explicit InventedSource(counters::SourceTraits traits, int counters = 1 << 16) : traits_(std::move(traits)) {
        limits_.general_counters = limits_.fixed_counters = counters;
    }
    counters::SourceTraits traits() const override { return traits_; }
    std::vector<counters::PmuLimits> limits() const override { return {limits_}; }
    Result<> prepare(const counters::Plan& plan) override {
        plan_ = plan;
        return {};
    }
    std::size_t runs_of(const counters::Plan& plan, const counters::Workload& workload) const override {
        return CounterSource::runs_of(plan, workload) + (latency > 0 ? 1 : 0);
    }
    Result<counters::Sample> measure(counters::Workload&, counters::Repetition repetition) override {
        ++measured;
        counters::Sample sample;
        if (repetition.pass == plan_.passes.size()) {
            for (const auto& event : plan_.latencies) {
                sample.latencies.push_back({event});
                for (int i = 0; i < 20; ++i) sample.latencies.back().sums.add(latency, 1);
            }
            return sample;
        }
        sample.nothing_seen = nothing_seen;
        int number = 0;
        for (const auto& group : plan_.passes.at(repetition.pass).groups) {
            for (const auto& planned : group.events) {
                record::Event event;
                event.name = planned.name;
                event.pmu = "cpu";
                event.config = "";
                event.reading = {1000, 1000, 1, 1};
                event.pass = static_cast<int>(repetition.pass);
                event.group = number;
                sample.events.push_back(std::move(event));
            }
            ++number;
        }
        return sample;
    }
    record::Source describe() const override { return {record::SourceKind::replay, "", "invented"}; }

    int measured = 0;
    bool nothing_seen = false;
    double latency = 0;  ///< that it samples in a run of its own; 0: it samples none
    std::size_t passes() const { return plan_.passes.size(); }

  private:
    counters::SourceTraits traits_;
    counters::PmuLimits limits_;
    counters::Plan plan_;
};

class Idle final : public counters::Workload {
  public:
    void run(std::uint64_t) override {}
};

Setup setup_of(const char* target) {
    Setup setup;
    setup.table = *events::load({}, target);
    setup.metrics = *judge::choose_metrics(*setup.table, 2, {});
    setup.constants.cpu_id = setup.table->cpu_id;
    setup.constants.values = {{"#core_wide", 0}, {"#smt_on", 0}, {"#has_pmem", 0}};
    return setup;
}

MeasuredRun measure_with(InventedSource& source) {
    Idle idle;
    MeasuredRun measured;
    const auto added = add_counts(source, {}, {}, setup_of("cascadelakex"), idle, 1, {}, measured);
    EXPECT_TRUE(added) << added.error().what;
    return measured;
}

TEST(SourceSeam, MetricsHaveTheStatusThatTheSourceStates) {
    InventedSource source({Status::replayed, true, true});
    const auto measured = measure_with(source);
    EXPECT_THAT(measured.run.metrics, Contains(Field(&record::Metric::status, Status::replayed)));
    EXPECT_THAT(measured.run.metrics, Each(Field(&record::Metric::status, testing::Ne(Status::measured))));
}

TEST(SourceSeam, ASourceThatDoesNotRepeatIsAskedOnce) {
    InventedSource once({Status::modelled, false, false}), often({Status::measured, true, true});
    measure_with(once);
    measure_with(often);
    EXPECT_EQ(once.passes(), 1U);
    EXPECT_EQ(once.measured, 1);
    EXPECT_EQ(often.measured, 5);
}

TEST(SourceSeam, ItsLimitsMakeThePasses) {
    InventedSource roomy({Status::measured, false, true}), narrow({Status::measured, false, true}, 2);
    measure_with(roomy);
    measure_with(narrow);
    EXPECT_EQ(roomy.passes(), 1U);
    EXPECT_GT(narrow.passes(), 1U);
    EXPECT_EQ(narrow.measured, static_cast<int>(narrow.passes()));
}

TEST(SourceSeam, LatenciesAreSampledInARunOfTheirOwnAndSaid) {
    auto setup = setup_of("graniterapids");
    setup.metrics = {"tma_lock_latency"};
    for (const double cycles : {0.0, 40.0}) {
        InventedSource source({Status::measured, true, true});
        source.latency = cycles;
        Idle idle;
        MeasuredRun measured;
        ASSERT_TRUE(add_counts(source, {}, {}, setup, idle, 1, {}, measured));
        ASSERT_THAT(measured.run.metrics, SizeIs(1));
        // 1000 locked loads in 1000 cycles: as many cycles as their latency, each.
        EXPECT_NEAR(measured.run.metrics[0].value, cycles > 0 ? 40 : 63.76, 1e-6);
        if (cycles == 0) continue;
        EXPECT_EQ(source.measured, 5 * 2);
        ASSERT_TRUE(measured.run.extra.perf);
        ASSERT_THAT(measured.run.extra.perf->retire_latencies, SizeIs(1));
        EXPECT_EQ(measured.run.extra.perf->retire_latencies[0].samples, 5 * 20u);
        EXPECT_THAT(measured.warnings, Contains(Field(&record::Warning::id, "sampled_latencies")));
    }
}

TEST(SourceSeam, WhatNothingWasSeenOfIsNotJudged) {
    InventedSource source({Status::modelled, false, false});
    source.nothing_seen = true;
    const auto measured = measure_with(source);
    EXPECT_THAT(measured.run.metrics, SizeIs(0));
    EXPECT_EQ(measured.source.kind, record::SourceKind::none);
}

}  // namespace
}  // namespace tmaprobe::experiments
