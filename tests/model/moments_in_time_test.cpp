#include "model/moments_in_time.h"

#include <gmock/gmock.h>

namespace tmaprobe::model {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::vector<double> weighed(const std::vector<double>& places_ns, double whole_ns) {
    std::vector<WindowFacts> moments(places_ns.size());
    for (std::size_t i = 0; i < moments.size(); ++i) moments[i].at_ns = places_ns[i];
    weigh_by_nearness(moments, whole_ns);
    std::vector<double> weights;
    for (const WindowFacts& moment : moments) weights.push_back(moment.native_ns);
    return weights;
}

TEST(MomentGrid, APointIsAtTheSamePlaceWhereverTheCopyWasMade) {
    MomentGrid grid;
    grid.afford(4);
    // In the middle of quarters: 1, 3, 5 and 7.
    EXPECT_THAT(grid.of(8, 0, 4), ElementsAre(0, 0.25, 0.75));
    EXPECT_THAT(grid.of(8, 4, 8), ElementsAre(0, 0.25, 0.75));
    EXPECT_THAT(grid.of(8, 1.5, 5.5), ElementsAre(0, 0.375, 0.875));
}

TEST(MomentGrid, ACopyStandsForAPointThatItIsCloseTo) {
    MomentGrid grid;
    grid.afford(4);
    EXPECT_THAT(grid.of(8, 2.5, 8), ElementsAre(0, DoubleNear(2.5 / 5.5, 1e-9), DoubleNear(4.5 / 5.5, 1e-9)));
    EXPECT_THAT(grid.of(8, 6.5, 8), ElementsAre(0));
}

TEST(MomentGrid, AllPointsTogetherAreAsManyAsCanBeAfforded) {
    MomentGrid grid;
    grid.afford(37);
    EXPECT_EQ(grid.of(1000, 0, 1000).size(), 33u);  // and the copy's own
}

TEST(MomentGrid, ALittleMoreOrLessTimeChangesNoPlace) {
    MomentGrid grid;
    grid.afford(37);
    const auto first = grid.of(1000, 0, 1000);
    for (const double points : {33.0, 47.0, 60.0}) {
        grid.afford(points);
        EXPECT_EQ(grid.of(1000, 0, 1000), first) << points;
    }
    grid.afford(31);
    EXPECT_EQ(grid.of(1000, 0, 1000).size(), 25u) << "these cannot be had any more";
    grid.afford(70);
    EXPECT_EQ(grid.of(1000, 0, 1000).size(), 65u) << "far more can be had";
}

TEST(MomentGrid, NothingToAffordIsTheCopysOwn) {
    EXPECT_THAT(MomentGrid().of(1000, 0, 500), ElementsAre(0));
    MomentGrid grid;
    grid.afford(0.3);
    EXPECT_THAT(grid.of(0, 0, 0), ElementsAre(0));
}

TEST(WeighByNearness, AMomentHasWhatIsNearestToIt) {
    // Before the first and after the last as much as on their other side: 20, 15 and 10 of 45.
    EXPECT_THAT(weighed({10, 30, 40}, 90),
                ElementsAre(DoubleNear(40, 1e-9), DoubleNear(30, 1e-9), DoubleNear(20, 1e-9)));
    EXPECT_THAT(weighed({40, 10, 30}, 90),
                ElementsAre(DoubleNear(20, 1e-9), DoubleNear(40, 1e-9), DoubleNear(30, 1e-9)))
        << "in whatever order they were modelled";
}

TEST(WeighByNearness, WhatNoneIsNearToIsLikeTheRest) {
    // 10 apart, and once 200: no more than twice as much as is usual is near to the two.
    const auto weights = weighed({10, 20, 30, 230, 240, 250}, 300);
    EXPECT_NEAR(weights[2] / weights[0], 1.5, 1e-9);
    EXPECT_NEAR(weights[3] / weights[0], 1.5, 1e-9);
    double all = 0;
    for (const double weight : weights) all += weight;
    EXPECT_NEAR(all, 300, 1e-9);
}

TEST(WeighByNearness, AStartStandsForItselfAlone) {
    EXPECT_THAT(weighed({0, 30e6, 50e6}, 81e6), ElementsAre(1e6, 40e6, 40e6));
    EXPECT_THAT(weighed({0, 0.5e6}, 80e6), ElementsAre(0.5e6, 79.5e6)) << "no longer than until the next";
    EXPECT_THAT(weighed({0}, 80e6), ElementsAre(80e6)) << "but where nothing else is known";
}

TEST(WeighByNearness, OneMomentHasAllAndNoneHaveNothing) {
    EXPECT_THAT(weighed({30}, 80), ElementsAre(80));
    EXPECT_THAT(weighed({}, 80), ElementsAre());
}

}  // namespace
}  // namespace tmaprobe::model
