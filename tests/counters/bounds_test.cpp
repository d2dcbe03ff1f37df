#include "counters/perf/bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tmaprobe::counters::perf {
namespace {

RateSpread constant(std::size_t windows) {
    RateSpread spread;
    for (std::size_t window = 0; window < windows; ++window) spread.add(500, 100);
    return spread;
}

TEST(RateSpread, IsTheWeightedCoefficientOfVariation) {
    RateSpread spread;
    spread.add(100, 100);  // rate 1
    spread.add(300, 100);  // rate 3: mean 2, sample deviation sqrt 2
    EXPECT_NEAR(spread.coefficient_of_variation(), std::sqrt(2) / 2, 1e-12);
    EXPECT_EQ(constant(10).coefficient_of_variation(), 0);
    spread.add(7, 0);  // never ran: no window
    EXPECT_EQ(spread.windows(), 2u);
}

TEST(RateSpread, ShortWindowsWeighLittle) {
    auto spread = constant(10);
    spread.add(50, 1);  // ten times the rate, for a hundredth of the time
    EXPECT_LT(spread.coefficient_of_variation(), 0.35);
}

TEST(MultiplexError, IsZeroForAnEventThatCountedAllTheTime) { EXPECT_EQ(multiplex_error(1, 1e9, 4e6, {}, 1e6), 0); }

TEST(MultiplexError, UnknownVariationIsTakenAsLarge) {
    // 250 slices, a quarter counted: 1.96 sqrt(0.75 / 62.5)
    EXPECT_NEAR(multiplex_error(0.25, 1e9, 4e6, {}, 0), 0.2147, 0.001);
}

TEST(MultiplexError, SteadyRatesLeaveOnlyTheEdges) {
    EXPECT_LT(multiplex_error(0.25, 1e9, 4e6, constant(20), 5e7), 0.001);
    EXPECT_GT(multiplex_error(0.25, 1e9, 4e6, constant(20), 5e7), 0);
}

TEST(MultiplexError, ShrinksWithTheLengthOfTheRun) {
    const double brief = multiplex_error(0.5, 1e8, 4e6, {}, 0), lengthy = multiplex_error(0.5, 1e10, 4e6, {}, 0);
    EXPECT_NEAR(brief / lengthy, 10, 0.01);
}

/// A program in phases, each slice of 4 ms with its own rate; a counter that sees every fourth slice in a
/// random place. The true count must lie within the bounds about 19 times in 20.
TEST(MultiplexError, HoldsTheTruthOfASimulatedProgram) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> rate(0, 0.8);
    constexpr int runs = 400, slices = 256, groups = 4;
    int held = 0;
    for (int run = 0; run < runs; ++run) {
        double truth = 0, counted = 0, window = 0;
        RateSpread spread;
        for (int slice = 0; slice < slices; ++slice) {
            const double counts = rate(random) * 4e6;
            truth += counts;
            if (slice % groups != run % groups) continue;
            counted += counts;
            window += counts;
            if (slice / groups % 4 == 3) {  // windows of four counted slices
                spread.add(window, 4 * 4e6);
                window = 0;
            }
        }
        const double value = counted * groups;
        const double error = multiplex_error(1.0 / groups, slices * 4e6, 4e6, spread, groups * 4 * 4e6);
        held += std::abs(value - truth) <= error * value;
    }
    EXPECT_GT(held, runs * 0.90);
    EXPECT_LT(held, runs);  // bounds that always hold are too wide to say anything
}

TEST(TakenShare, IsAGapThatTurnsDoNotLeave) {
    RateSpread turns, taken;
    for (int window = 0; window < 100; ++window) {
        for (auto* spread : {&turns, &taken}) spread->add(1000, 1e6);
        turns.add_idle(5e6);  // three groups at 4 ms
        turns.add_idle(5e6);
        if (window == 50)
            for (int lost = 0; lost < 100; ++lost) taken.add_idle(5e6);
    }
    EXPECT_EQ(taken_share(2e9, 4e6, 3, turns), 0);
    EXPECT_DOUBLE_EQ(taken_share(2e9, 4e6, 3, taken), 0.25);
}

TEST(MostOfRare, IsThatOfPoisson) {
    // Upper ends of exact 95% intervals: 3.69, 5.57, 18.39, 119 (for 98).
    EXPECT_NEAR(most_of_rare(0), 3.69, 0.3);
    EXPECT_NEAR(most_of_rare(1), 5.57, 0.3);
    EXPECT_NEAR(most_of_rare(10), 18.39, 0.3);
    EXPECT_NEAR(most_of_rare(98), 119.4, 0.5);
}

}  // namespace
}  // namespace tmaprobe::counters::perf
