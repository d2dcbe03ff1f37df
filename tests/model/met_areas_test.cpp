#include "model/met_areas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

TEST(MetAreas, WhatNeverComesBackTellsNothing) {
    MetAreas areas;
    for (std::uint64_t line = 5000; line < 5500; ++line) areas.note(line, false);
    EXPECT_EQ(areas.questions_per_line(5400), 0);
    EXPECT_EQ(areas.questions_per_line(1'000'000), 0);
}

TEST(MetAreas, LinesByChanceTellHowManyThereAre) {
    // 600 lines of an area, each of them asked for `each` times on average.
    for (const double each : {0.3, 1.0, 3.0}) {
        MetAreas areas;
        Random random(7);
        std::vector<bool> met(600);
        for (int i = 0; i < 600 * each; ++i) {
            const std::size_t line = random.below(met.size());
            areas.note(2048 + line, met[line]);
            met[line] = true;
        }
        EXPECT_NEAR(areas.questions_per_line(2048), each, 0.2 * each);
    }
}

TEST(MetAreas, AnAreaThatComesInAnothersPlaceIsItsOwn) {
    MetAreas areas;
    constexpr std::uint64_t apart = 4096 * 1024;
    for (int i = 0; i < 100; ++i) areas.note(70, i > 0);
    EXPECT_GT(areas.questions_per_line(70), 1);
    areas.note(70 + apart, false);
    EXPECT_EQ(areas.questions_per_line(70 + apart), 0);
    EXPECT_EQ(areas.questions_per_line(70), 0);
}

TEST(MetAreas, WhereLinesComeAgainTheyAreAllMetAtLast) {
    MetAreas areas;
    Random random(7);
    std::vector<bool> met(600);
    double different = 0;
    for (std::size_t i = 0; i < met.size(); ++i) {
        const std::size_t line = random.below(met.size());
        areas.note(2048 + line, met[line]);
        different += !met[line];
        met[line] = true;
    }
    EXPECT_NEAR(areas.time_of(static_cast<std::uint64_t>(different)), 1, 0.05);
    EXPECT_NEAR(areas.time_of(300), std::log(2), 0.15);
    EXPECT_GT(areas.time_of(700), 100) << "there are no more";
}

TEST(MetAreas, AStreamGoesOnAsFastAsItWas) {
    MetAreas areas;
    for (std::uint64_t line = 0; line < 5000; ++line) areas.note(line, false);
    EXPECT_NEAR(areas.time_of(2500), 0.5, 0.02);
    EXPECT_NEAR(areas.time_of(20000), 4, 0.1);
    EXPECT_EQ(areas.time_of(0), 0);
}

TEST(MetAreas, TheShareOfLinesMetAgainIsThatOfDrawsByChance) {
    for (const double each : {0.05, 0.5, 1.0, 4.0, 20.0})
        EXPECT_NEAR(questions_per_line_from(1 - (1 - std::exp(-each)) / each), each, 0.01 * each);
    EXPECT_EQ(questions_per_line_from(0), 0);
    EXPECT_LE(questions_per_line_from(1), 101);
}

}  // namespace
}  // namespace tmaprobe::model
