#include "model/speed_up.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

const events::CoreError no_error;

WindowFacts cycles(double value) {
    WindowFacts window;
    window.base = {{"cycles", value}};
    return window;
}

TEST(SpeedUp, OfOneMomentIsTheRatioOfItsCycles) {
    const auto found = speed_up_of({{1, cycles(300), cycles(200)}}, no_error);
    EXPECT_DOUBLE_EQ(found.value, 1.5);
    EXPECT_DOUBLE_EQ(found.low, 1.5);
    EXPECT_DOUBLE_EQ(found.high, 1.5);
}

TEST(SpeedUp, MomentsWeighAsTheTimeThatTheyStandFor) {
    // Nine tenths of the time becomes half as long, the rest stays: 1 / (0.45 + 0.1).
    const auto found = speed_up_of({{9, cycles(100), cycles(50)}, {1, cycles(1000), cycles(1000)}}, no_error);
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
    auto found = speed_up_of({moment}, no_error);
    EXPECT_DOUBLE_EQ(found.low, 1.5);
    EXPECT_DOUBLE_EQ(found.high, 2);
    // What cannot tell a variation apart any more stays as it is.
    moment.after.variations.clear();
    found = speed_up_of({moment}, no_error);
    EXPECT_DOUBLE_EQ(found.high, 2.5);
}

/// 100 cycles of four slots, so many of which are lost to mispredictions.
WindowFacts with_mispredictions(double slots) {
    WindowFacts window;
    window.base = {{"cycles", 100},
                   {"slots", 400},
                   {"slots_by_cause_retiring", 400 - slots},
                   {"slots_by_cause_wrong_path", slots}};
    return window;
}

TEST(SpeedUp, TheCoreThatMayBeOffIsTheSameBeforeAndAfter) {
    // A fourth more or less of what mispredictions take, which the change takes away: 75, or 125, of 100 cycles to 50.
    const events::CoreError error{{}, {{record::SlotCause::wrong_path, 0.5, 0.5, {}}}};
    ComparedMoment moment{1, with_mispredictions(200), with_mispredictions(0)};
    moment.after.base = {{"cycles", 50}, {"slots", 200}, {"slots_by_cause_retiring", 200}};
    auto found = speed_up_of({moment}, error);
    EXPECT_DOUBLE_EQ(found.value, 2);
    EXPECT_DOUBLE_EQ(found.low, 1.5);
    EXPECT_DOUBLE_EQ(found.high, 2.5);
    // What is lost to them before and after makes no difference.
    found = speed_up_of({{1, with_mispredictions(200), with_mispredictions(200)}}, error);
    EXPECT_DOUBLE_EQ(found.low, 1);
    EXPECT_DOUBLE_EQ(found.high, 1);
}

TEST(SpeedUp, TwoCoresAreEachOffByThemselves) {
    const events::CoreError error{{}, {{record::SlotCause::wrong_path, 0.5, 0.5, {}}}};
    const auto found = speed_up_of({{1, with_mispredictions(200), with_mispredictions(200)}}, error, no_error);
    EXPECT_DOUBLE_EQ(found.low, 0.75);
    EXPECT_DOUBLE_EQ(found.high, 1.25);
}

TEST(SpeedUp, WithoutCyclesNothingIsWon) {
    EXPECT_DOUBLE_EQ(speed_up_of({}, no_error).value, 1);
    EXPECT_DOUBLE_EQ(speed_up_of({{1, WindowFacts(), WindowFacts()}}, no_error).value, 1);
}

}  // namespace
}  // namespace tmaprobe::model
