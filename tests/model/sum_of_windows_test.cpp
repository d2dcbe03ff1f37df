#include "model/sum_of_windows.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tmaprobe::model {
namespace {

WindowFacts window_of(double cycles_per_instruction, double native_ns) {
    WindowFacts window;
    window.base = {{"cycles", 20000 * cycles_per_instruction}, {"instructions", 20000}};
    window.native_ns = native_ns;
    return window;
}

/// Cycles per instruction of each of the draws.
std::vector<double> drawn(std::vector<WindowFacts> windows, const LookedAt& looked_at = {}) {
    ModelledCpu cpu;
    Modelled modelled;
    sum_up(windows, true, cpu, modelled, looked_at);
    std::vector<double> found;
    for (auto& variation : modelled.variations)
        if (variation.what == record::Variation::drawn_moments)
            found.push_back(variation.facts["cycles"] / variation.facts["instructions"]);
    return found;
}

TEST(SumOfWindows, OfFewMomentsAnyMayHaveBeenTheOnlyOne) {
    const auto found = drawn({window_of(1, 1e6), window_of(2, 1e6), window_of(3, 1e6)});
    ASSERT_FALSE(found.empty());
    for (const double one : found)
        EXPECT_THAT(one, testing::AnyOf(testing::DoubleEq(1), testing::DoubleEq(2), testing::DoubleEq(3)));
    EXPECT_DOUBLE_EQ(*std::ranges::min_element(found), 1);
    EXPECT_DOUBLE_EQ(*std::ranges::max_element(found), 3);
}

TEST(SumOfWindows, ManyMomentsLeaveLessToChance) {
    std::vector<WindowFacts> windows;
    for (int i = 0; i < 64; ++i) windows.push_back(window_of(i % 2 ? 1 : 3, 1e6));
    const auto found = drawn(std::move(windows));
    // In time, half of it is of each: 2 cycles for (1 + 1/3) instructions. By chance 32 +- 4 of 64 are of one.
    EXPECT_NEAR(*std::ranges::min_element(found), 1.5, 0.35);
    EXPECT_NEAR(*std::ranges::max_element(found), 1.5, 0.35);
    EXPECT_LT(*std::ranges::min_element(found), 1.4);
    EXPECT_GT(*std::ranges::max_element(found), 1.6);
}

TEST(SumOfWindows, AMomentThatStandsForHardlyAnyTimeIsHardlyEverDrawn) {
    for (const double one : drawn({window_of(9, 1), window_of(1, 1e9), window_of(1, 1e9)})) EXPECT_DOUBLE_EQ(one, 1);
}

TEST(SumOfWindows, OfAFewMomentsTheWindowsOfEachCount) {
    auto moment = window_of(1, 1e9);
    merge(moment, window_of(2, 0));
    merge(moment, window_of(3, 0));
    const auto found = drawn({window_of(9, 1), std::move(moment)});
    ASSERT_FALSE(found.empty());
    EXPECT_DOUBLE_EQ(*std::ranges::min_element(found), 1);
    EXPECT_DOUBLE_EQ(*std::ranges::max_element(found), 3);
}

TEST(SumOfWindows, KindsKeepTheirShares) {
    // Two kinds, half of the time each, of which the moments are all alike: nothing is left to chance.
    std::vector<WindowFacts> windows;
    for (int i = 0; i < 8; ++i) {
        windows.push_back(window_of(i % 2 ? 1 : 3, 1e6));
        windows.back().kind = i % 2;
    }
    for (const double one : drawn(std::move(windows))) EXPECT_NEAR(one, 1.5, 1e-9);
}

TEST(SumOfWindows, CodeThatWasNotMetMayBeLikeAnyKind) {
    auto one = window_of(1, 1e6), other = window_of(3, 1e6);
    other.kind = 1;
    const auto found = drawn({one, other}, {0, 0.5});
    // Three quarters of the time are of the one, or of the other.
    EXPECT_NEAR(*std::ranges::min_element(found), 1 / (0.75 + 0.25 / 3), 1e-9);
    EXPECT_NEAR(*std::ranges::max_element(found), 1 / (0.25 + 0.75 / 3), 1e-9);
}

TEST(SumOfWindows, FewLooksLeaveTheSharesToChance) {
    auto one = window_of(1, 1e6), other = window_of(3, 1e6);
    other.kind = 1;
    const auto few = drawn({one, other}, {100, 0}), many = drawn({one, other}, {10000, 0});
    const auto [least_of_few, most_of_few] = std::ranges::minmax_element(few);
    const auto [least_of_many, most_of_many] = std::ranges::minmax_element(many);
    // 50 +- 5 of 100, 5,000 +- 50 of 10,000.
    EXPECT_GT(*most_of_few - *least_of_few, 0.1);
    EXPECT_LT(*most_of_many - *least_of_many, 0.05);
}

TEST(SumOfWindows, OneMomentSaysNothingOfOthers) { EXPECT_THAT(drawn({window_of(1, 1e6)}), testing::IsEmpty()); }

}  // namespace
}  // namespace tmaprobe::model
