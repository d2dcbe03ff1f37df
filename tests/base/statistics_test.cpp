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

// The interval is a 95% one: over many samples it must hold the true median about that often, or more.
TEST(Summarize, IntervalCoversTheTrueMedian) {
    std::mt19937 random(1);
    std::exponential_distribution<double> skewed(1);
    const double true_median = 0.6931471805599453;
    for (const std::size_t size : {9u, 25u, 60u}) {
        int covered = 0;
        const int trials = 2000;
        for (int trial = 0; trial < trials; ++trial) {
            std::vector<double> values(size);
            std::generate(values.begin(), values.end(), [&] { return skewed(random); });
            const Summary summary = summarize(values);
            covered += summary.low <= true_median && true_median <= summary.high;
        }
        EXPECT_GE(covered, trials * 94 / 100) << size;
        EXPECT_LE(covered, trials * 995 / 1000) << size;
    }
}

}  // namespace
}  // namespace tmaprobe
