#include "judge/rank_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tmaprobe::judge {
namespace {

std::vector<double> around(double centre, double spread, std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, spread);
    std::vector<double> values;
    for (std::size_t index = 0; index < count; ++index) values.push_back(centre * std::exp(normal(generator)));
    return values;
}

TEST(Ranks, OfFiveValuesEachCutTwo) {
    // Published critical value of U for 5 and 5 at 5% (two-sided): 2, so ranks 3 and 23 of 25 remain.
    const Ratio ratio = compare_ranks({1, 1, 1, 1, 1}, {1, 2, 3, 4, 5});
    EXPECT_DOUBLE_EQ(ratio.value, 3);
    EXPECT_DOUBLE_EQ(ratio.low, 1);
    EXPECT_DOUBLE_EQ(ratio.high, 5);
    EXPECT_NEAR(ratio.confidence, 1 - 2 * 4.0 / 252, 1e-12);  // 4 of the 252 arrangements have U <= 2
}

TEST(Ranks, OfTooFewValuesGiveNoCertainty) {
    const Ratio three = compare_ranks({1, 1.01, 1.02}, {2, 2.01, 2.02});
    EXPECT_NEAR(three.confidence, 0.9, 1e-12);
    EXPECT_FALSE(three.differs());
    EXPECT_TRUE(compare_ranks({1, 1.01, 1.02, 1.03}, {2, 2.01, 2.02, 2.03}).differs());
    EXPECT_EQ(compare_ranks({}, {1, 2, 3}).confidence, 0);
}

TEST(Ranks, LeaveOutWhatIsNoTime) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(compare_ranks({nan, 0, -1, infinity}, {1, 2}).confidence, 0);
    EXPECT_DOUBLE_EQ(compare_ranks({2, nan}, {4, infinity}).value, 2);
}

TEST(Ranks, CoverTheTruthAboutAsOftenAsTheySay) {
    int covered = 0, rounds = 400;
    for (int round = 0; round < rounds; ++round) {
        const Ratio ratio =
            compare_ranks(around(10, 0.03, 9, unsigned(2 * round)), around(11, 0.03, 9, unsigned(2 * round + 1)));
        covered += ratio.low <= 1.1 && 1.1 <= ratio.high;
    }
    EXPECT_GT(covered, rounds * 0.92);
    EXPECT_LT(covered, rounds * 0.995);
}

TEST(Ranks, FindNoDifferenceWhereThereIsNoneMostly) {
    int found = 0;
    for (int round = 0; round < 400; ++round)
        found += compare_ranks(around(10, 0.03, 9, unsigned(2 * round)), around(10, 0.03, 9, unsigned(2 * round + 1)))
                     .differs();
    EXPECT_LT(found, 32);
}

TEST(Ranks, AreNotMovedByOneOutlier) {
    auto after = around(10, 0.01, 9, 2);
    after[4] = 1000;
    const Ratio ratio = compare_ranks(around(10, 0.01, 9, 1), after);
    EXPECT_NEAR(ratio.value, 1, 0.02);
    EXPECT_LT(ratio.high, 1.1);
}

TEST(Ranks, OfManyValuesAgreeWithTheExactOnes) {
    const Ratio exact = compare_ranks(around(10, 0.05, 40, 1), around(11, 0.05, 40, 2));
    const Ratio approximate = compare_ranks(around(10, 0.05, 41, 1), around(11, 0.05, 41, 2));
    EXPECT_NEAR(exact.low, approximate.low, 0.02);
    EXPECT_NEAR(exact.high, approximate.high, 0.02);
}

}  // namespace
}  // namespace tmaprobe::judge
