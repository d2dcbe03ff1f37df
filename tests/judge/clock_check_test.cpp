#include "judge/clock_check.h"

#include <gtest/gtest.h>

namespace tmaprobe::judge {
namespace {

using record::ClockVerdict;

record::ClockCheck check_of(double ratio, std::uint64_t windows) {
    record::ClockCheck check;
    check.ratio = ratio;
    check.windows = windows;
    return check;
}

TEST(ClockCheck, IsDoubtfulBeyondTheRatioOnBothSides) {
    const events::ClockLimits limits{1.5, 2};
    for (const double ratio : {1.5, 1.0, 1 / 1.5 + 1e-9}) {
        auto check = check_of(ratio, 2);
        EXPECT_FALSE(judge_clock(limits, check)) << ratio;
        EXPECT_EQ(check.verdict, ClockVerdict::agrees) << ratio;
    }
    for (const double ratio : {1.51, 0.66, 3.0}) {
        auto check = check_of(ratio, 2);
        const auto warning = judge_clock(limits, check);
        ASSERT_TRUE(warning) << ratio;
        EXPECT_EQ(warning->id, "model_doubtful");
        EXPECT_EQ(check.verdict, ClockVerdict::doubtful) << ratio;
    }
}

TEST(ClockCheck, TooFewMomentsAreNoJudgement) {
    auto check = check_of(3, 1);
    EXPECT_FALSE(judge_clock({1.5, 2}, check));
    EXPECT_EQ(check.verdict, ClockVerdict::not_judged);
    auto none = check_of(0, 5);
    EXPECT_FALSE(judge_clock({1.5, 2}, none));
    EXPECT_EQ(none.verdict, ClockVerdict::not_judged);
}

TEST(ClockCheck, OfAKernelIsOfAnOperation) {
    record::ModelDetail model;
    model.cycles = 30'000;  // half a cycle an instruction
    model.counted_instructions = 60'000;
    record::Time time;
    time.known = true;
    time.clean = 3;
    time.ns_per_op.median = 25;
    time.cycles_per_op.median = 50;  // at 2 GHz
    const auto judged = [&](double instructions) {
        auto& check = model.clock_check.emplace();
        check.windows = 3;
        check.instructions = instructions;
        const bool warned = judge_kernel_clock({1.5, 3}, time, model).has_value();
        EXPECT_EQ(warned, check.verdict == ClockVerdict::doubtful);
        return check;
    };
    EXPECT_DOUBLE_EQ(judged(120).modelled_ns, 30);
    EXPECT_DOUBLE_EQ(judged(120).measured_ns, 25);
    EXPECT_DOUBLE_EQ(judged(120).clock_hz, 2e9);
    EXPECT_EQ(judged(120).verdict, ClockVerdict::agrees);
    EXPECT_EQ(judged(200).verdict, ClockVerdict::doubtful);
    EXPECT_EQ(judged(60).verdict, ClockVerdict::doubtful);
    time.clean = 2;
    EXPECT_EQ(judged(200).verdict, ClockVerdict::not_judged) << "others were beside it";
    EXPECT_DOUBLE_EQ(judged(200).ratio, 2);
    time.known = false;
    EXPECT_EQ(judged(200).measured_ns, 0);
}

TEST(ClockCheck, TheLimitsAreInTheTables) {
    const auto limits = events::read_clock_limits({});
    ASSERT_TRUE(limits);
    EXPECT_GT(limits->ratio, 1);
    EXPECT_GE(limits->windows, 1u);
}

}  // namespace
}  // namespace tmaprobe::judge
