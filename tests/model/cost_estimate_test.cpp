#include "model/cost_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

using Window = std::map<std::uint64_t, SampledCode>;

TEST(CostEstimate, WhatWasSimulatedAsAWholeIsExact) {
    const std::map<std::uint64_t, double> executions{{1, 10}, {2, 5}};
    const auto estimate = estimate_cost(executions, {Window{{1, {4, 8}}, {2, {5, 20}}}, Window{{1, {6, 15}}}});
    EXPECT_DOUBLE_EQ(estimate.cycles, 43);
    EXPECT_DOUBLE_EQ(estimate.standard_error, 0);
    EXPECT_DOUBLE_EQ(estimate.by_address.at(1), 23);
}

TEST(CostEstimate, EachInstructionIsRaisedToItsOwnExecutions) {
    // The windows happen to have met much of the dear one: its share in the run decides, not that in the windows.
    const std::map<std::uint64_t, double> executions{{1, 1000}, {2, 100}};
    const auto estimate = estimate_cost(executions, {Window{{1, {10, 10}}, {2, {10, 100}}}});
    EXPECT_DOUBLE_EQ(estimate.cycles, 1000 + 1000);
}

TEST(CostEstimate, WhatNoWindowMetCostsWhatAllDoOnAverage) {
    const auto estimate = estimate_cost({{1, 100}, {2, 50}}, {Window{{1, {10, 20}}}});
    EXPECT_DOUBLE_EQ(estimate.by_address.at(2), 100);
    EXPECT_DOUBLE_EQ(estimate.cycles, 300);
}

TEST(CostEstimate, TheErrorIsThatOfManySamples) {
    constexpr int runs = 400, windows = 50;
    Random random(7);
    double sum = 0, squares = 0, told = 0;
    for (int run = 0; run < runs; ++run) {
        std::vector<Window> sample;
        for (int i = 0; i < windows; ++i) {
            const auto both = static_cast<double>(1 + random.below(20));
            const auto other = static_cast<double>(1 + random.below(10));
            sample.push_back({{1, {both, both * static_cast<double>(1 + random.below(3))}},
                              {2, {other, other * static_cast<double>(3 + random.below(5))}}});
        }
        const auto estimate = estimate_cost({{1, 1e6}, {2, 5e5}}, sample);
        sum += estimate.cycles;
        squares += estimate.cycles * estimate.cycles;
        told += estimate.standard_error;
    }
    const double mean = sum / runs, deviation = std::sqrt(squares / runs - mean * mean);
    EXPECT_NEAR(told / runs / deviation, 1, 0.15);
    EXPECT_NEAR(mean, 1e6 * 2 + 5e5 * 5, 3e4);
}

TEST(CostEstimate, OfNothingIsNothing) {
    EXPECT_EQ(estimate_cost({{1, 5}}, {}).cycles, 0);
    EXPECT_EQ(estimate_cost({}, {Window{{1, {5, 5}}}}).cycles, 0);
}

}  // namespace
}  // namespace tmaprobe::model
