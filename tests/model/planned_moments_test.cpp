#include "model/planned_moments.h"

#include <gmock/gmock.h>

namespace tmaprobe::model {
namespace {

using Looks = std::vector<counters::perf::TimeProfile::Look>;

/// So many looks at each of these pieces of code, one after the other.
Looks looks_at(const std::vector<std::pair<std::uint64_t, int>>& pieces) {
    Looks looks;
    for (const auto& [piece, times] : pieces)
        for (int i = 0; i < times; ++i) looks.push_back({piece * 64 + 7, looks.size() + 1});
    return looks;
}

std::vector<double> evenly(int moments) {
    std::vector<double> shares;
    for (int i = 0; i < moments; ++i) shares.push_back(i / static_cast<double>(moments));
    return shares;
}

TEST(PlannedMoments, AreEvenWhereOneCodeRuns) {
    PlannedMoments planned;
    EXPECT_THAT(planned.of(looks_at({{1, 400}}), {0, 400}, evenly(4), 1, 3), testing::ElementsAre(0, 0.25, 0.5, 0.75));
    EXPECT_THAT(planned.of(looks_at({{1, 400}}), {0, 400}, {0, 0.25}, 0.5, 3), testing::ElementsAre(0, 0.25));
}

TEST(PlannedMoments, AShortPhaseHasOneOfItsOwn) {
    PlannedMoments planned;
    const Looks looks = looks_at({{1, 130}, {2, 20}, {1, 250}});
    const auto moments = planned.of(looks, {0, 400}, evenly(4), 1, 3);
    ASSERT_EQ(moments.size(), 5u);
    EXPECT_GT(moments[2], 130 / 400.0);
    EXPECT_LT(moments[2], 150 / 400.0);
    EXPECT_THAT(planned.of(looks, {0, 400}, evenly(4), 1, 3), testing::SizeIs(4)) << "it has one by now";
}

TEST(PlannedMoments, WhatComesRightAfterTheStartHasOne) {
    const Looks looks = looks_at({{1, 20}, {2, 380}});
    EXPECT_THAT(PlannedMoments().of(looks, {0, 400}, evenly(4), 1, 3), testing::SizeIs(5));
    EXPECT_THAT(PlannedMoments().of(looks, {1, 400}, evenly(4), 1, 3), testing::SizeIs(4)) << "where the copy was made";
}

TEST(PlannedMoments, AFewLooksAreWorthNone) {
    PlannedMoments planned;
    EXPECT_THAT(planned.of(looks_at({{1, 130}, {2, 3}, {1, 267}}), {0, 400}, evenly(4), 1, 3), testing::SizeIs(4));
    EXPECT_THAT(planned.of(looks_at({{1, 13}, {2, 10}}), {0, 23}, evenly(1), 1, 3), testing::SizeIs(1));
    EXPECT_THAT(planned.of({}, {0, 0}, evenly(2), 1, 3), testing::ElementsAre(0, 0.5));
}

TEST(PlannedMoments, WhatIsBeyondTheCopysTimeIsNotItsOwn) {
    PlannedMoments planned;
    const Looks looks = looks_at({{1, 200}, {2, 100}, {1, 100}});
    EXPECT_THAT(planned.of(looks, {0, 200}, evenly(2), 1, 3), testing::SizeIs(2));
    EXPECT_THAT(planned.of(looks, {0, 400}, {0, 0.2}, 0.4, 3), testing::SizeIs(2)) << "the copy is not followed so far";
    EXPECT_THAT(planned.of(looks, {200, 400}, evenly(1), 1, 3), testing::SizeIs(1)) << "it begins there";
}

TEST(PlannedMoments, AsManyAreAddedAsAreAllowed) {
    PlannedMoments planned;
    const Looks looks = looks_at({{1, 100}, {2, 60}, {3, 50}, {4, 40}, {1, 150}});
    const auto moments = planned.of(looks, {1, 401}, evenly(1), 1, 2);
    ASSERT_EQ(moments.size(), 3u);
    EXPECT_THAT(moments[1], testing::AllOf(testing::Gt(0.25), testing::Lt(0.4)));
    EXPECT_THAT(moments[2], testing::AllOf(testing::Gt(0.4), testing::Lt(0.525)));
}

}  // namespace
}  // namespace tmaprobe::model
