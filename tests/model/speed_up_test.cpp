#include "model/speed_up.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

WindowFacts cycles(double value) {
    WindowFacts window;
    window.base = {{"cycles", value}};
    return window;
}

TEST(SpeedUp, OfOneMomentIsTheRatioOfItsCycles) {
    const auto found = speed_up_of({{1, cycles(300), cycles(200)}});
    EXPECT_DOUBLE_EQ(found.value, 1.5);
    EXPECT_DOUBLE_EQ(found.low, 1.5);
    EXPECT_DOUBLE_EQ(found.high, 1.5);
}

TEST(SpeedUp, MomentsWeighAsTheTimeThatTheyStandFor) {
    // Nine tenths of the time becomes half as long, the rest stays: 1 / (0.45 + 0.1).
    const auto found = speed_up_of({{9, cycles(100), cycles(50)}, {1, cycles(1000), cycles(1000)}});
    EXPECT_DOUBLE_EQ(found.value, 1 / 0.55);
    EXPECT_LE(found.low, found.value);
    EXPECT_GE(found.high, found.value);
    EXPECT_GE(found.low, 1);
    EXPECT_LE(found.high, 2);
}

TEST(SpeedUp, WhatIsNotKnownIsTheSameBeforeAndAfter) {
    ComparedMoment moment{1, cycles(300), cycles(200)};
    moment.before.variations.push_back({record::Variation::memory_latency_high, {{"cycles", 500}}, {}});
    moment.after.variations.push_back({record::Variation::memory_latency_high, {{"cycles", 250}}, {}});
    auto found = speed_up_of({moment});
    EXPECT_DOUBLE_EQ(found.low, 1.5);
    EXPECT_DOUBLE_EQ(found.high, 2);
    // What cannot tell a variation apart any more stays as it is.
    moment.after.variations.clear();
    found = speed_up_of({moment});
    EXPECT_DOUBLE_EQ(found.high, 2.5);
}

TEST(SpeedUp, WithoutCyclesNothingIsWon) {
    EXPECT_DOUBLE_EQ(speed_up_of({}).value, 1);
    EXPECT_DOUBLE_EQ(speed_up_of({{1, WindowFacts(), WindowFacts()}}).value, 1);
}

}  // namespace
}  // namespace tmaprobe::model
