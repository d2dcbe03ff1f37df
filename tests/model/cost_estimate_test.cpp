#include "model/cost_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

using Window = WindowCosts;

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

TEST(CostEstimate, WhatWasAwaitedCountsOnlyForWhatChanceHardlyMeets) {
    // One is everywhere, and dear where it was waited for: that says nothing of the rest of the run.
    const std::vector<Window> by_chance(40, Window{{1, {10, 10}}});
    const std::vector<Window> awaited(4, Window{{1, {10, 50}}, {2, {5, 20}}});
    const auto estimate = estimate_cost({{1, 10'000}, {2, 100}}, by_chance, awaited);
    EXPECT_DOUBLE_EQ(estimate.by_address.at(1), 10'000);
    EXPECT_DOUBLE_EQ(estimate.by_address.at(2), 400);
    EXPECT_DOUBLE_EQ(estimate.standard_error, 0);
}

TEST(CostEstimate, OfWhatWasAwaitedHasItsError) {
    const std::vector<Window> by_chance(40, Window{{1, {10, 10}}});
    std::vector<Window> awaited;
    for (int i = 0; i < 10; ++i) awaited.push_back({{2, {5, i % 2 ? 15.0 : 25.0}}});
    const auto estimate = estimate_cost({{1, 10'000}, {2, 1000}}, by_chance, awaited);
    EXPECT_DOUBLE_EQ(estimate.by_address.at(2), 4000);
    // 950 executions are not known, from ten windows that are 1 cycle an execution apart either way.
    EXPECT_NEAR(estimate.standard_error, 950 / std::sqrt(10), 10);
}

TEST(CostEstimate, WhatIsSharedCostsWhatTheWayToItMakesIt) {
    // One instruction is shared by two ways, of which it is quick in one; by chance windows had more of that.
    Random random(3);
    std::vector<Window> windows;
    for (int i = 0; i < 100; ++i) {
        const auto quick = static_cast<double>(100 + random.below(100)), slow = static_cast<double>(random.below(100));
        windows.push_back({{1, {quick + slow, quick + 3 * slow}}, {2, {quick, quick}}, {3, {slow, slow}}});
    }
    const auto estimate = estimate_cost({{1, 2e6}, {2, 1e6}, {3, 1e6}}, windows);
    EXPECT_NEAR(estimate.cycles, 4e6 + 2e6, 1e3);
    EXPECT_LT(estimate.standard_error, 1e3);
    double sum = 0;
    for (const auto& [address, cycles] : estimate.by_address) sum += cycles;
    EXPECT_NEAR(sum, estimate.cycles, 1);
}

/// A run in which one stretch of a hundred mispredicts often, at 20 cycles each, in the same instructions as all
/// others.
struct RareDearness {
    static constexpr double stretches = 10'000, steps = 1000, cycles_of_one = 20;
    std::vector<Window> windows;
    CountedEvents events;
    double cycles = 0;

    explicit RareDearness(std::uint64_t seed, bool counted_as_a_whole) {
        Random random(seed);
        double mispredicted_in_all = 0, followed = 0;
        const auto followed_stretches = std::make_shared<CountedEvents::Stretches>();
        for (int i = 0; i < static_cast<int>(stretches); ++i) {
            const auto mispredicted = static_cast<double>(i % 100 == 50 ? 150 + random.below(50) : random.below(4));
            const double here = steps + cycles_of_one * mispredicted + static_cast<double>(random.below(10));
            cycles += here;
            if (random.below(100) == 0) windows.push_back({{1, {steps, here, {mispredicted}}}});
            if (!counted_as_a_whole && random.below(5)) continue;
            mispredicted_in_all += mispredicted;
            followed += steps;
            if (!counted_as_a_whole)
                followed_stretches->push_back(
                    {{1, static_cast<std::uint32_t>(steps), {static_cast<std::uint32_t>(mispredicted)}}});
        }
        events.all[1] = {followed, 0, {mispredicted_in_all}};
        if (!counted_as_a_whole) events.stretches = followed_stretches;
    }
    CostEstimate estimate() const { return estimate_cost({{1, stretches * steps}}, windows, {}, events); }
};

TEST(CostEstimate, WhatIsRareAndDearIsToldByItsEvents) {
    constexpr int runs = 20;
    double without = 0, with = 0;
    for (int run = 0; run < runs; ++run) {
        const RareDearness one(static_cast<std::uint64_t>(run), true);
        const auto estimate = one.estimate();
        with = std::max(with, std::abs(estimate.cycles / one.cycles - 1));
        EXPECT_LT(estimate.standard_error, 0.002 * one.cycles);
        EXPECT_NEAR(estimate.by_address.at(1), estimate.cycles, 1);
        const auto by_chance = estimate_cost({{1, one.stretches * one.steps}}, one.windows);
        without = std::max(without, std::abs(by_chance.cycles / one.cycles - 1));
    }
    EXPECT_LT(with, 0.002);
    EXPECT_GT(without, 0.02);
}

TEST(CostEstimate, EventsThatWereCountedInStretchesHaveTheirError) {
    constexpr int runs = 200;
    double squares = 0, told = 0;
    for (int run = 0; run < runs; ++run) {
        const RareDearness one(static_cast<std::uint64_t>(run), false);
        const auto estimate = one.estimate();
        squares += std::pow(estimate.cycles - one.cycles, 2);
        told += std::pow(estimate.standard_error, 2);
    }
    EXPECT_NEAR(std::sqrt(told / squares), 1, 0.25);
}

TEST(CostEstimate, OfNothingIsNothing) {
    EXPECT_EQ(estimate_cost({{1, 5}}, {}).cycles, 0);
    EXPECT_EQ(estimate_cost({}, {Window{{1, {5, 5}}}}).cycles, 0);
}

}  // namespace
}  // namespace tmaprobe::model
