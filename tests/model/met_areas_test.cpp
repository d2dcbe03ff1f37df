#include "model/met_areas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

TEST(MetAreas, WhatNeverComesBackTellsNothing) {
    MetAreas areas(0);
    for (std::uint64_t line = 5000; line < 5500; ++line) areas.note(line);
    EXPECT_EQ(areas.questions_per_line(5400), 0);
    EXPECT_EQ(areas.questions_per_line(1'000'000), 0);
}

TEST(MetAreas, LinesByChanceTellHowManyThereAre) {
    // 600 lines of an area, each of them asked for `each` times on average.
    for (const double each : {0.3, 1.0, 3.0}) {
        MetAreas areas(0);
        Random random(7);
        for (int i = 0; i < 600 * each; ++i) areas.note(2048 + random.below(600));
        EXPECT_NEAR(areas.questions_per_line(2048), each, 0.2 * each);
    }
}

TEST(MetAreas, AnAreaThatComesInAnothersPlaceIsItsOwn) {
    MetAreas areas(0);
    constexpr std::uint64_t apart = 4096 * 1024;
    for (int i = 0; i < 100; ++i) areas.note(70);
    EXPECT_GT(areas.questions_per_line(70), 1);
    areas.note(70 + apart);
    EXPECT_EQ(areas.questions_per_line(70 + apart), 0);
    EXPECT_EQ(areas.questions_per_line(70), 0);
}

TEST(MetAreas, WhereLinesComeAgainTheyAreAllMetAtLast) {
    MetAreas areas(0);
    Random random(7);
    for (int i = 0; i < 600; ++i) areas.note(2048 + random.below(600));
    EXPECT_NEAR(areas.time_of(areas.lines_met()), 1, 0.05);
    EXPECT_NEAR(areas.time_of(300), std::log(2), 0.15);
    EXPECT_GT(areas.time_of(700), 100) << "there are no more";
}

TEST(MetAreas, WhatTheSecondLevelHoldsTellsNothingOfTheRest) {
    // Lines by chance of 3,000, and a second level that holds the last 1,000 of them.
    constexpr std::uint64_t held = 1000, all = 3000;
    MetAreas areas(held);
    Random random(7);
    std::vector<std::uint64_t> last(held, all);
    std::uint64_t questions = 0;
    for (int i = 0; i < 6000; ++i) {
        const std::uint64_t line = random.below(all);
        if (std::ranges::find(last, line) != last.end()) continue;
        last[questions++ % held] = line;
        areas.note(16384 + line);
    }
    const auto lines_beyond = static_cast<double>(all - held);
    EXPECT_NEAR(areas.questions_per_line(16384 + 1500), static_cast<double>(questions) / lines_beyond,
                0.15 * static_cast<double>(questions) / lines_beyond);
    EXPECT_GT(areas.time_of(all + 200), 10);
}

TEST(MetAreas, WhereFewOfASmallAreaCameAgainTheOnesAroundItTell) {
    MetAreas areas(0);
    Random random(7);
    constexpr std::uint64_t lines = 16384;
    for (std::uint64_t i = 0; i < lines / 8; ++i) areas.note(lines + random.below(lines));
    for (const std::uint64_t line : {0, 5000, 16000}) EXPECT_NEAR(areas.questions_per_line(lines + line), 0.125, 0.06);
}

TEST(MetAreas, AMomentBeginsWithNothing) {
    MetAreas areas(0);
    for (int i = 0; i < 100; ++i) areas.note(70);
    areas.begin_moment();
    EXPECT_EQ(areas.questions_per_line(70), 0);
    EXPECT_EQ(areas.lines_met(), 0u);
    areas.note(70);
    EXPECT_EQ(areas.lines_met(), 1u);
}

TEST(MetAreas, AStreamGoesOnAsFastAsItWas) {
    MetAreas areas(0);
    for (std::uint64_t line = 0; line < 5000; ++line) areas.note(line);
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
