#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tmaprobe {
namespace {

TEST(Summarize, NothingGivesZeros) {
    const Summary summary = summarize({});
    EXPECT_EQ(summary.count, 0u);
    EXPECT_EQ(summary.median, 0);
}

TEST(Summarize, OneValueIsEverything) {
    const Summary summary = summarize({3});
    EXPECT_EQ(summary.median, 3);
    EXPECT_EQ(summary.min, 3);
    EXPECT_EQ(summary.max, 3);
    EXPECT_EQ(summary.mad, 0);
    EXPECT_EQ(summary.low, 3);
    EXPECT_EQ(summary.high, 3);
}

TEST(Summarize, MedianAndDeviationDoNotFollowAnOutlier) {
    const Summary summary = summarize({5, 1, 2, 1000, 3});
    EXPECT_EQ(summary.median, 3);
    EXPECT_EQ(summary.mad, 2);
    EXPECT_EQ(summary.max, 1000);
}

TEST(Summarize, EvenCountTakesTheMiddleOfTwo) { EXPECT_EQ(summarize({4, 1, 3, 2}).median, 2.5); }

// By hand: z = 1.96, 30 of 100, and the ends.
TEST(ProportionInterval, IsWilsons) {
    const auto some = proportion_interval(0.3, 100);
    EXPECT_NEAR(some.low, 0.2189, 1e-4);
    EXPECT_NEAR(some.high, 0.3958, 1e-4);
    const auto all = proportion_interval(1, 100);
    EXPECT_NEAR(all.low, 0.9630, 1e-4);
    EXPECT_EQ(all.high, 1);
    const auto none = proportion_interval(0, 100);
    EXPECT_EQ(none.low, 0);
    EXPECT_NEAR(none.high, 0.0370, 1e-4);
    EXPECT_EQ(proportion_interval(0.5, 0).low, 0);
    EXPECT_EQ(proportion_interval(0.5, 0).high, 1);
}

TEST(ProportionInterval, HoldsTheTruthIn95Of100) {
    std::mt19937_64 random(1);
    for (const double truth : {0.02, 0.3, 0.7}) {
        constexpr int trials = 2000, of_each = 400;
        int held = 0;
        for (int i = 0; i < trials; ++i) {
            std::binomial_distribution<int> draw(of_each, truth);
            const auto bounds = proportion_interval(draw(random) / double{of_each}, of_each);
            held += bounds.low <= truth && truth <= bounds.high;
        }
        EXPECT_NEAR(held / double{trials}, 0.95, 0.025) << truth;
    }
}

// The ranks of the sign test; each confidence is 1 - 2 * P(X < lower) for X binomial(count, 1/2).
TEST(MedianInterval, IsTheExactOne) {
    const struct {
        std::size_t count, lower, upper;
        double confidence;
    } known[] = {
        {1, 1, 1, 0},       {2, 1, 2, 0.5},     {3, 1, 3, 0.75},     {5, 1, 5, 0.9375},    {6, 1, 6, 0.96875},
        {8, 1, 8, 0.99219}, {9, 2, 8, 0.96094}, {10, 2, 9, 0.97852}, {20, 6, 15, 0.95861}, {31, 10, 22, 0.970551},
    };
    for (const auto& one : known) {
        const RankInterval interval = median_interval(one.count);
        EXPECT_EQ(interval.lower, one.lower) << one.count;
        EXPECT_EQ(interval.upper, one.upper) << one.count;
        EXPECT_NEAR(interval.confidence, one.confidence, 1e-5) << one.count;
    }
}

/// Probability that more than `misses` of n fair coins show heads, added up in integers.
double upper_tail(unsigned n, unsigned misses) {
    std::vector<double> row{1};
    for (unsigned i = 0; i < n; ++i) {
        row.push_back(0);
        for (std::size_t k = row.size() - 1; k > 0; --k) row[k] = (row[k] + row[k - 1]) / 2;
        row[0] /= 2;
    }
    double sum = 0;
    for (std::size_t k = misses + 1; k < row.size(); ++k) sum += row[k];
    return sum;
}

// Both ends: neither tail may exceed 2.5%, and one rank closer in it would.
TEST(MedianInterval, BothTailsAreAtMostTwoAndAHalfPercent) {
    for (unsigned n = 6; n <= 400; ++n) {
        const RankInterval interval = median_interval(n);
        EXPECT_EQ(interval.lower - 1, n - interval.upper) << n;
        const auto tail = [&](std::size_t lower) { return upper_tail(n, n - static_cast<unsigned>(lower)); };
        EXPECT_LE(tail(interval.lower), 0.025) << n;
        EXPECT_GT(tail(interval.lower + 1), 0.025) << n;
        EXPECT_NEAR(interval.confidence, 1 - 2 * tail(interval.lower), 1e-9) << n;
    }
}

TEST(MedianInterval, HoldsForManyRepetitions) {
    const RankInterval interval = median_interval(1'000'000);
    EXPECT_NEAR(static_cast<double>(interval.lower), 500'000 - 980, 2);
    EXPECT_NEAR(interval.confidence, 0.95, 0.001);
}

TEST(Summarize, FewValuesSayTheirConfidence) {
    const Summary three = summarize({1, 2, 3});
    EXPECT_EQ(three.low, 1);
    EXPECT_EQ(three.high, 3);
    EXPECT_EQ(three.confidence, 0.75);
}

// The interval is a 95% one: over many samples it must hold the true median about that often, or more.
TEST(Summarize, IntervalCoversTheTrueMedian) {
    std::mt19937 random(1);
    std::exponential_distribution<double> skewed(1);
    const double true_median = 0.6931471805599453;
    for (const std::size_t size : {9u, 25u, 60u}) {
        int covered = 0, missed_low = 0, missed_high = 0;
        const int trials = 2000;
        for (int trial = 0; trial < trials; ++trial) {
            std::vector<double> values(size);
            std::generate(values.begin(), values.end(), [&] { return skewed(random); });
            const Summary summary = summarize(values);
            missed_low += true_median < summary.low;
            missed_high += true_median > summary.high;
            covered += summary.low <= true_median && true_median <= summary.high;
        }
        const double expected = median_interval(size).confidence;
        EXPECT_NEAR(covered, trials * expected, trials * 0.02) << size;
        EXPECT_LE(missed_low, trials * 0.035) << size;
        EXPECT_LE(missed_high, trials * 0.035) << size;
    }
}

}  // namespace
}  // namespace tmaprobe
