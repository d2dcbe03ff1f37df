#include "experiments/basic_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tmaprobe::experiments {
namespace {

record::Event counted(const std::string& name, double value, std::uint64_t running_ns = 100) {
    record::Event event;
    event.name = name;
    event.reading.raw = static_cast<std::uint64_t>(value);
    event.reading.value = value;
    event.reading.time_enabled_ns = 100;
    event.reading.time_running_ns = running_ns;
    if (running_ns == 0) event.note = record::Note::not_counted;
    return event;
}

const std::vector<events::BasicMetric> known = {{"instructions_per_cycle", "what", "instructions", "cycles"},
                                                {"cycles", "what", "cycles", ""},
                                                {"branch_miss_ratio", "what", "branch-misses", "branches"}};

const record::Metric* find(const record::Run& run, const std::string& name) {
    const auto found = std::ranges::find(run.metrics, name, &record::Metric::name);
    return found == run.metrics.end() ? nullptr : &*found;
}

TEST(BasicMetrics, AreRatiosAndCounts) {
    record::Run run;
    run.events = {counted("instructions", 300), counted("cycles", 200)};
    add_basic_metrics(known, run);
    ASSERT_TRUE(find(run, "instructions_per_cycle") && find(run, "cycles"));
    EXPECT_DOUBLE_EQ(find(run, "instructions_per_cycle")->value, 1.5);
    EXPECT_DOUBLE_EQ(find(run, "cycles")->value, 200);
    EXPECT_EQ(find(run, "branch_miss_ratio"), nullptr);  // nobody asked for it, and it was not counted
}

TEST(BasicMetrics, HoldTheBoundsOfBothEvents) {
    record::Run run;
    run.events = {counted("instructions", 300, 50), counted("cycles", 200, 40)};
    run.events[0].low = 270, run.events[0].high = 330;
    run.events[1].low = 180, run.events[1].high = 220;
    add_basic_metrics(known, run);
    const auto* ipc = find(run, "instructions_per_cycle");
    ASSERT_TRUE(ipc);
    EXPECT_DOUBLE_EQ(ipc->low, 270.0 / 220);
    EXPECT_DOUBLE_EQ(ipc->high, 330.0 / 180);
    EXPECT_DOUBLE_EQ(ipc->counted_share, 0.4);
}

TEST(BasicMetrics, NothingIsMadeOfWhatWasNotCounted) {
    record::Run run;
    run.events = {counted("instructions", 0, 0), counted("cycles", 0, 0), counted("branch-misses", 5),
                  counted("branches", 0)};
    add_basic_metrics(known, run);
    EXPECT_TRUE(run.metrics.empty());
}

TEST(BasicMetrics, AHybridsPartHasItsOwn) {
    record::Run run;
    run.parameters.pmu = "cpu_atom";
    run.events = {counted("cpu_atom/instructions/", 100), counted("cpu_atom/cycles/", 200)};
    add_basic_metrics(known, run);
    ASSERT_TRUE(find(run, "instructions_per_cycle"));
    EXPECT_DOUBLE_EQ(find(run, "instructions_per_cycle")->value, 0.5);
}

TEST(BasicMetrics, KindsOfCoresThatNoTableTellsApartAddUp) {
    record::Run run;
    run.events = {counted("cpu_core/instructions/", 300), counted("cpu_atom/instructions/", 100),
                  counted("cpu_core/cycles/", 100), counted("cpu_atom/cycles/", 100)};
    add_basic_metrics(known, run);
    ASSERT_TRUE(find(run, "instructions_per_cycle"));
    EXPECT_DOUBLE_EQ(find(run, "instructions_per_cycle")->value, 2);
}

TEST(BasicMetrics, ATablesOwnOfThatNameStays) {
    record::Run run;
    record::Metric own;
    own.name = "cycles";
    own.value = 7;
    run.metrics = {own};
    run.events = {counted("cycles", 200)};
    add_basic_metrics(known, run);
    ASSERT_EQ(run.metrics.size(), 1u);
    EXPECT_DOUBLE_EQ(run.metrics[0].value, 7);
}

}  // namespace
}  // namespace tmaprobe::experiments
