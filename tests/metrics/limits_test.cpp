#include <gtest/gtest.h>

#include "metrics/evaluate.h"

namespace tmaprobe::metrics {
namespace {

MetricDefinition definition(const std::string& name, const std::string& value, const std::string& low,
                            const std::string& high) {
    MetricDefinition made;
    made.name = name;
    made.expression = value;
    made.low_expression = low;
    made.high_expression = high;
    made.approximate = true;
    return made;
}

MetricValue value_of(const std::vector<MetricDefinition>& definitions, const std::string& name, const Counts& counts) {
    const auto values = evaluate(definitions, {name}, counts, {});
    EXPECT_TRUE(values) << values.error().what;
    return values && !values->empty() ? values->front() : MetricValue{};
}

TEST(Limits, AreWhatTheirExpressionsGive) {
    const auto value =
        value_of({definition("backend", "(stalls + rest) / 2 / cycles", "stalls / cycles", "rest / cycles")}, "backend",
                 {{"cycles", {100, 100, 100}}, {"stalls", {10, 10, 10}}, {"rest", {50, 50, 50}}});
    EXPECT_DOUBLE_EQ(value.value, 0.3);
    EXPECT_DOUBLE_EQ(value.low, 0.1);
    EXPECT_DOUBLE_EQ(value.high, 0.5);
}

TEST(Limits, HoldTheErrorsOfTheirCountsToo) {
    const auto value =
        value_of({definition("backend", "rest / 2 / cycles", "stalls / cycles", "rest / cycles")}, "backend",
                 {{"cycles", {100, 100, 100}}, {"stalls", {10, 8, 12}}, {"rest", {50, 45, 60}}});
    EXPECT_DOUBLE_EQ(value.low, 0.08);
    EXPECT_DOUBLE_EQ(value.high, 0.6);
}

TEST(Limits, NeverLeaveTheValueOut) {
    const auto value =
        value_of({definition("one", "a", "b", "c")}, "one", {{"a", {1, 1, 1}}, {"b", {2, 2, 2}}, {"c", {0, 0, 0}}});
    EXPECT_DOUBLE_EQ(value.low, 1);
    EXPECT_DOUBLE_EQ(value.high, 1);
}

TEST(Limits, MayNameOtherMetrics) {
    const std::vector<MetricDefinition> definitions = {definition("whole", "a + b", "", ""),
                                                       definition("part", "a", "0", "whole")};
    const Counts counts = {{"a", {1, 1, 1}}, {"b", {2, 2, 2}}};
    EXPECT_DOUBLE_EQ(value_of(definitions, "part", counts).high, 3);
    const auto needed = events_needed(definitions, {"part"}, {});
    ASSERT_TRUE(needed);
    EXPECT_EQ(*needed, (std::vector<std::string>{"a", "b"}));
}

TEST(Limits, WithoutTheirCountsAreNotKnown) {
    const auto value = value_of({definition("one", "a", "b", "a")}, "one", {{"a", {1, 1, 1}}});
    EXPECT_EQ(value.outcome, Outcome::value);
    EXPECT_FALSE(value.bounded);
}

TEST(Limits, ThatDoNotParseAreBadInput) { EXPECT_FALSE(evaluate({definition("one", "a", "(", "a")}, {"one"}, {}, {})); }

}  // namespace
}  // namespace tmaprobe::metrics
