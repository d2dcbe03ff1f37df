#include "metrics/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "metrics/evaluate.h"

namespace tmaprobe::metrics {
namespace {

using testing::HasSubstr;

/// Evaluates one expression on A = 6, B = 3, C = 0, with #smt_on = 1 and #slots = 8.
Result<MetricValue> value_of(const std::string& expression) {
    MetricDefinition metric;
    metric.name = "tested";
    metric.expression = expression;
    const Counts counts = {{"A", {6, 6, 6}},
                           {"B", {3, 3, 3}},
                           {"C", {0, 0, 0}},
                           {"D.E_F", {10, 10, 10}},
                           {"two", {7, 7, 7, true, 2, 4}},
                           {"off", {0, 0, 0, false}},
                           {"0x10", {16, 16, 16}},
                           {"topdown\\-retiring", {5, 5, 5}},
                           {"cpu@D.E_F\\,cmask\\=1@", {4, 4, 4}},
                           {"cpu_core@tsc\\,cpu=cpu_core@", {9, 9, 9}},
                           {"D.E_F:R", {2, 2, 2}}};
    const Constants constants{{{"#smt_on", 1}, {"#slots", 8}}, "GenuineIntel-6-8F-8", {}};
    const auto values = TRY(evaluate({metric}, {}, counts, constants));
    return values.front();
}

struct Case {
    const char* expression;
    double expected;
};

class Evaluates : public testing::TestWithParam<Case> {};

TEST_P(Evaluates, AsPerfDoes) {
    const auto value = value_of(GetParam().expression);
    ASSERT_TRUE(value) << value.error().what;
    ASSERT_EQ(value->outcome, Outcome::value) << value->reason;
    EXPECT_DOUBLE_EQ(value->value, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Literals, Evaluates,
                         testing::Values(Case{"1", 1}, Case{"1.5", 1.5}, Case{".5", 0.5}, Case{"2.", 2},
                                         Case{"1e9", 1e9}, Case{"1e-3", 1e-3}, Case{"2.5e2", 250}, Case{"1E3", 1000},
                                         Case{"0x10", 16}, Case{" \t1\n", 1}));
INSTANTIATE_TEST_SUITE_P(Precedence, Evaluates,
                         testing::Values(Case{"A + B * 2", 12}, Case{"(A + B) * 2", 18}, Case{"A - B - 1", 2},
                                         Case{"A / B / 2", 1}, Case{"A / B * 2", 4}, Case{"-A * B", -18},
                                         Case{"A - -B", 9}, Case{"--A", 6}, Case{"A-B", 3}, Case{"7 % 4 * 2", 6},
                                         Case{"A < B + 4", 1}, Case{"A > 5 & B > 5", 0}, Case{"A > 5 & B > 2", 1},
                                         Case{"1 | 0 & 0", 1}, Case{"1 ^ 1 & 0", 1}, Case{"1 | 1 ^ 1", 1},
                                         Case{"A & 1", 1}, Case{"A ^ B", 0}, Case{"C ^ B", 1}, Case{"2 | C", 1}));
INSTANTIATE_TEST_SUITE_P(Choice, Evaluates,
                         testing::Values(Case{"A if 1 else B", 6}, Case{"A if 0 else B", 3},
                                         Case{"A if C else B if C else 9", 9}, Case{"(A if #SMT_on else B) / 2", 3},
                                         Case{"A + 1 if B > 2 else 0", 7},
                                         // What is not chosen need not be there, and may divide by zero.
                                         Case{"A if 1 else missing", 6}, Case{"A / C if C else B", 3},
                                         Case{"max(A if 0 else B, 1)", 3}));
INSTANTIATE_TEST_SUITE_P(Functions, Evaluates,
                         testing::Values(Case{"min(A, B)", 3}, Case{"max(A, B)", 6}, Case{"max(1 - A, 0)", 0},
                                         Case{"d_ratio(A, B)", 2}, Case{"d_ratio(A, C)", 0},
                                         Case{"source_count(two)", 2}, Case{"aggr_nr(two)", 4}, Case{"has_event(A)", 1},
                                         Case{"has_event(missing)", 0}, Case{"#slots * 2", 16}, Case{"#SMT_ON", 1},
                                         Case{"strcmp_cpuid_str(GenuineIntel\\-6\\-8F)", 1},
                                         Case{"strcmp_cpuid_str(0x410fd493)", 0}));
INSTANTIATE_TEST_SUITE_P(Names, Evaluates,
                         testing::Values(Case{"D.E_F / 2", 5}, Case{"topdown\\-retiring * 2", 10},
                                         Case{"cpu@D.E_F\\,cmask\\=1@ + 1", 5}, Case{"D.E_F:R * 3", 6},
                                         Case{"cpu_core@tsc\\,cpu=cpu_core@", 9},
                                         Case{"1 - topdown\\-retiring/10", 0.5}));
// A decisive operand is enough, whatever the other one lacks.
INSTANTIATE_TEST_SUITE_P(ThreeValued, Evaluates,
                         testing::Values(Case{"1 | missing", 1}, Case{"missing | 1", 1}, Case{"0 & missing", 0},
                                         Case{"missing & 0", 0}));

struct NoValueCase {
    const char* expression;
    Outcome outcome;
    const char* reason;
};

class HasNoValue : public testing::TestWithParam<NoValueCase> {};

TEST_P(HasNoValue, AndSaysWhy) {
    const auto value = value_of(GetParam().expression);
    ASSERT_TRUE(value) << value.error().what;
    EXPECT_EQ(value->outcome, GetParam().outcome);
    EXPECT_THAT(value->reason, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, HasNoValue,
    testing::Values(NoValueCase{"A / C", Outcome::unavailable, "division by zero: C is 0"},
                    NoValueCase{"A / (B * C)", Outcome::unavailable, "B * C is 0"},
                    NoValueCase{"A % C", Outcome::unavailable, "division by zero: C is 0"},
                    NoValueCase{"A % 0.5", Outcome::unavailable, "division by zero"},
                    NoValueCase{"1e300 % 7", Outcome::unavailable, "not a finite"},
                    NoValueCase{"A + missing", Outcome::unavailable, "no count of missing"},
                    NoValueCase{"A + off", Outcome::not_counted, "off was not counted"},
                    NoValueCase{"#num_dies", Outcome::unavailable, "#num_dies is not known"},
                    NoValueCase{"NaN", Outcome::unavailable, "not a finite"},
                    NoValueCase{"1e308 * 10", Outcome::unavailable, "not a finite"},
                    // perf gives 0, A, and 1 here: numbers made from nothing.
                    NoValueCase{R"(A + topdown\-be\-bound)", Outcome::unavailable, "no count of topdown-be-bound"},
                    NoValueCase{"max(missing, 0)", Outcome::unavailable, "no count of missing"},
                    NoValueCase{"A if missing else B", Outcome::unavailable, "no count of missing"},
                    NoValueCase{"0 | missing", Outcome::unavailable, "no count of missing"},
                    NoValueCase{"d_ratio(missing, C)", Outcome::unavailable, "no count of missing"}));

struct BadCase {
    std::string expression;
    const char* message;
};

class Refuses : public testing::TestWithParam<BadCase> {};

TEST_P(Refuses, NamingTheColumn) {
    const auto parsed = Expression::parse(GetParam().expression);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_input);
    EXPECT_THAT(parsed.error().what, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Broken, Refuses,
    testing::Values(BadCase{"", "found the end at column 1"},
                    BadCase{"A +", "expected a value, found the end at column 4"},
                    BadCase{"A B", "unexpected 'B' at column 3"}, BadCase{"(A", "expected ')', found the end"},
                    BadCase{"A)", "unexpected ')' at column 2"}, BadCase{"min(A)", "expected ',', found ')'"},
                    BadCase{"A if B", "expected 'else', found the end"}, BadCase{"if A else B", "expected a value"},
                    BadCase{"A $ B", "unexpected '$' at column 3"}, BadCase{"#", "expected a value"},
                    BadCase{"source_count(A + B)", "expected ')', found '+'"}, BadCase{"1e999", "expected a value"},
                    BadCase{"\xff", "at column 1"}, BadCase{std::string("A\0B", 3), "at column 2"},
                    BadCase{std::string(100'000, '('), "longest allowed"},
                    BadCase{std::string(60'000, '('), "nested too deeply"},
                    BadCase{std::string(60'000, '-') + "1", "nested too deeply"}));

TEST(Expression, TakesLongSumsWithoutNesting) {
    std::string sum = "1";
    while (sum.size() < 60'000) sum += "+1";
    const auto value = value_of(sum);
    ASSERT_TRUE(value) << value.error().what;
    EXPECT_DOUBLE_EQ(value->value, static_cast<double>(sum.size() + 1) / 2);
}

TEST(Expression, ListsNamesOnceInOrder) {
    const auto parsed = Expression::parse("(B + A) / (B if #SMT_on else has_event(E))");
    ASSERT_TRUE(parsed);
    EXPECT_THAT(parsed->names(), testing::ElementsAre("B", "A", "#SMT_on", "E"));
}

}  // namespace
}  // namespace tmaprobe::metrics
