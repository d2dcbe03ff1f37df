#include "metrics/formulas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/cpuid.h"

namespace tmaprobe::metrics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MetricDefinition metric(std::string name, std::string expression, std::string threshold = {}, std::string pmu = {}) {
    MetricDefinition definition;
    definition.name = std::move(name);
    definition.expression = std::move(expression);
    definition.threshold = std::move(threshold);
    definition.pmu = std::move(pmu);
    return definition;
}

TEST(Formulas, FollowNestedMetrics) {
    const std::vector definitions = {metric("outer", "inner * 2"), metric("inner", "A / B")};
    const auto values = evaluate(definitions, {"outer"}, {{"A", {6, 6, 6}}, {"B", {3, 3, 3}}}, {});
    ASSERT_TRUE(values);
    EXPECT_DOUBLE_EQ(values->front().value, 4);
}

TEST(Formulas, NameTheCircle) {
    const std::vector definitions = {metric("a", "b + 1"), metric("b", "c"), metric("c", "a * 2"), metric("good", "1")};
    const auto values = evaluate(definitions, {"a"}, {}, {});
    ASSERT_FALSE(values);
    EXPECT_EQ(values.error().code, ErrorCode::bad_input);
    EXPECT_THAT(values.error().what, HasSubstr("a -> b -> c -> a"));
    EXPECT_FALSE(evaluate({metric("self", "self")}, {}, {}, {}));
    // A metric that has nothing to do with the circle is not harmed by it.
    EXPECT_TRUE(evaluate(definitions, {"good"}, {}, {}));
}

TEST(Formulas, TakeALongChainOfMetrics) {
    std::vector<MetricDefinition> definitions = {metric("m0", "1")};
    for (int i = 1; i < 20'000; ++i)
        definitions.push_back(metric("m" + std::to_string(i), "m" + std::to_string(i - 1) + " + 1"));
    const auto values = evaluate(definitions, {"m19999"}, {}, {});
    ASSERT_TRUE(values);
    EXPECT_DOUBLE_EQ(values->front().value, 20'000);
}

TEST(Formulas, EvaluateThresholdsOnMetrics) {
    const std::vector definitions = {metric("parent", "A", "parent > 0.2"),
                                     metric("child", "B", "child > 0.1 & parent > 0.5"),
                                     metric("blind", "A", "missing > 1")};
    const auto values = evaluate(definitions, {}, {{"A", {0.3, 0.3, 0.3}}, {"B", {0.2, 0.2, 0.2}}}, {});
    ASSERT_TRUE(values);
    EXPECT_EQ(values->at(0).over_threshold, true);
    EXPECT_EQ(values->at(1).over_threshold, false);
    EXPECT_EQ(values->at(2).over_threshold, std::nullopt);
}

TEST(Formulas, PreferTheMetricOfTheSamePmu) {
    const std::vector definitions = {metric("ipc", "x", "", "cpu_core"), metric("x", "1", "", "cpu_core"),
                                     metric("ipc", "x", "", "cpu_atom"), metric("x", "2", "", "cpu_atom")};
    const auto values = evaluate(definitions, {"ipc"}, {}, {});
    ASSERT_TRUE(values);
    ASSERT_EQ(values->size(), 2u);
    EXPECT_DOUBLE_EQ(values->at(0).value, 1);
    EXPECT_DOUBLE_EQ(values->at(1).value, 2);
}

TEST(EventsNeeded, LeavesOutWhatConstantsDecide) {
    const std::vector definitions = {metric("m", "(A if #smt_on else B) + other"), metric("other", "C if 1 > 2 else D"),
                                     metric("n", "0 & E"), metric("o", "1 | F"), metric("t", "1", "G > 1")};
    Constants constants;
    constants.values["#smt_on"] = 0;
    EXPECT_THAT(events_needed(definitions, {}, constants).value(), ElementsAre("D", "B"));
    constants.values["#smt_on"] = 1;
    EXPECT_THAT(events_needed(definitions, {"m"}, constants).value(), ElementsAre("D", "A"));
}

/// Bounds of one expression with A in 8..12 around 10, B in 4..6 around 5 and C exactly 2.
MetricValue bounded(const std::string& expression) {
    const Counts counts = {{"A", {10, 8, 12}}, {"B", {5, 4, 6}}, {"C", {2, 2, 2}}, {"Z", {1, 0, 2}}};
    return evaluate({metric("m", expression)}, {}, counts, {}).value().front();
}

TEST(Bounds, AreTheRangeOfMonotoneFormulas) {
    EXPECT_DOUBLE_EQ(bounded("A / B").low, 8.0 / 6);
    EXPECT_DOUBLE_EQ(bounded("A / B").high, 12.0 / 4);
    EXPECT_DOUBLE_EQ(bounded("A - B").low, 2);
    EXPECT_DOUBLE_EQ(bounded("A - B").high, 8);
    EXPECT_DOUBLE_EQ(bounded("C * 3").low, 6);
    EXPECT_DOUBLE_EQ(bounded("C * 3").high, 6);
}

TEST(Bounds, KeepWhatCancels) {
    EXPECT_DOUBLE_EQ(bounded("A / A").low, 1);
    EXPECT_DOUBLE_EQ(bounded("A / A").high, 1);
    EXPECT_NEAR(bounded("A / (A + B)").high, 12.0 / 16, 1e-12);
    EXPECT_NEAR(bounded("(1 - A / 20) + A / 20").low, 1, 1e-12);
}

TEST(Bounds, HoldTheValueWhereMaxCutsIn) {
    const auto value = bounded("max(A - 11, 0)");
    EXPECT_DOUBLE_EQ(value.low, 0);
    EXPECT_DOUBLE_EQ(value.high, 1);
}

TEST(Bounds, SayWhenADivisorMayBeZero) {
    EXPECT_FALSE(bounded("A / Z").bounded);
    EXPECT_TRUE(bounded("A / B").bounded);
}

TEST(Cpuid, MatchesAsPerfDoes) {
    EXPECT_TRUE(cpuid_matches("GenuineIntel-6-55-[01234]", "GenuineIntel-6-55-4"));
    EXPECT_FALSE(cpuid_matches("GenuineIntel-6-55-[01234]", "GenuineIntel-6-55-7"));
    EXPECT_FALSE(cpuid_matches("GenuineIntel-6-55-[01234]", "GenuineIntel-6-55"));
    EXPECT_TRUE(cpuid_matches("GenuineIntel-6-8F", "GenuineIntel-6-8F-8"));
    EXPECT_FALSE(cpuid_matches("GenuineIntel-6-8", "GenuineIntel-6-8F-8"));
    EXPECT_FALSE(cpuid_matches("GenuineIntel-6-8F", "XGenuineIntel-6-8F-8"));
    EXPECT_TRUE(cpuid_matches("GenuineIntel-6-(97|9A|B7|BA|BF)", "GenuineIntel-6-BA-2"));
    EXPECT_TRUE(cpuid_matches("AuthenticAMD-23-([12][0-9A-F]|[0-9A-F])", "AuthenticAMD-23-1-1"));
    EXPECT_FALSE(cpuid_matches("AuthenticAMD-23-([12][0-9A-F]|[0-9A-F])", "AuthenticAMD-23-31-0"));
    EXPECT_TRUE(cpuid_matches("AuthenticAMD-25-[[:xdigit:]]+", "AuthenticAMD-25-11-1"));
    EXPECT_TRUE(cpuid_matches("^IBM.396[12].*3\\.[67].[[:xdigit:]]+$", "IBM,3961,400,Z06,3.6,002f"));
    EXPECT_FALSE(cpuid_matches("broken(", "broken("));
    EXPECT_FALSE(cpuid_matches("", ""));
}

TEST(Cpuid, ComparesMidrsByPartAndAge) {
    EXPECT_TRUE(cpuid_matches("0x00000000410fd490", "0x410fd490"));
    EXPECT_TRUE(cpuid_matches("0x00000000410fd490", "0x00000000411fd493"));
    EXPECT_TRUE(cpuid_matches("0x410fd493", "0x00000000411fd490"));
    EXPECT_FALSE(cpuid_matches("0x410fd493", "0x00000000410fd490"));
    EXPECT_FALSE(cpuid_matches("0x00000000410fd490", "0x00000000410fd4f0"));
    EXPECT_FALSE(cpuid_matches("0x00000000410fd490", "GenuineIntel-6-8F-8"));
}

}  // namespace
}  // namespace tmaprobe::metrics
