#include "model/window_likeness.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

std::vector<trace::Step> steps(std::initializer_list<std::uint32_t> instructions) {
    std::vector<trace::Step> steps;
    for (const std::uint32_t instruction : instructions) steps.push_back({instruction, 0, 0});
    return steps;
}

TEST(WindowLikeness, IsTheShareOfStepsThatBothHave) {
    const WindowLikeness sampled(steps({1, 2, 3, 1, 2, 3}));
    EXPECT_DOUBLE_EQ(sampled.with(steps({3, 2, 1, 3, 2, 1})), 1) << "whatever the order";
    EXPECT_DOUBLE_EQ(sampled.with(steps({7, 8, 9, 7, 8, 9})), 0);
    EXPECT_DOUBLE_EQ(sampled.with(steps({1, 2, 3, 7, 8, 9})), 0.5);
    EXPECT_DOUBLE_EQ(sampled.with(steps({1, 1, 1, 1, 1, 1})), 2.0 / 6) << "each step counts once";
    EXPECT_DOUBLE_EQ(sampled.with(steps({7, 7, 7, 7, 7, 7, 1, 1, 2, 2, 3, 3})), 1) << "beside whatever else";
    EXPECT_DOUBLE_EQ(sampled.with({}), 0);
    EXPECT_DOUBLE_EQ(WindowLikeness({}).with(steps({1})), 0);
}

TEST(WindowLikeness, IsOfTheMomentAndNotOfWhatComesAfterIt) {
    std::vector<trace::Step> two_phases(2000, {1, 0, 0});
    two_phases.insert(two_phases.end(), 18000, {2, 0, 0});
    const WindowLikeness sampled(two_phases);
    EXPECT_DOUBLE_EQ(sampled.with(std::vector<trace::Step>(20000, {1, 0, 0})), 1);
    EXPECT_DOUBLE_EQ(sampled.with(std::vector<trace::Step>(20000, {2, 0, 0})), 0);
}

}  // namespace
}  // namespace tmaprobe::model
