#include "model/taken_out.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tmaprobe::model {
namespace {

/// How often each window had something, at most `most` times.
Column pattern(std::size_t windows, std::uint64_t factor, std::uint64_t most) {
    Column column(windows);
    for (std::size_t i = 0; i < windows; ++i) column[i] = static_cast<double>((i + 1) * factor % 101 % (most + 1));
    return column;
}

TEST(TakenOut, AnEventTakesWhatWindowsDifferBy) {
    constexpr std::size_t windows = 40;
    constexpr double cycles_each = 15, in_others = 1000;
    const Column events = pattern(windows, 37, 5);
    Column apart(windows);
    for (std::size_t i = 0; i < windows; ++i) apart[i] = cycles_each * events[i];
    TakenOut out(apart);
    std::vector<Regressor> all(1, {events, in_others, {}});
    all[0].made_of[0] = 1;
    out.take_out_events(all);
    EXPECT_NEAR(out.of_events()[0], cycles_each, 1e-9);
    EXPECT_NEAR(out.cycles(), cycles_each * in_others, 1e-6);
    for (const double left : apart) EXPECT_NEAR(left, 0, 1e-9);
}

TEST(TakenOut, TwoEventsAreToldApart) {
    constexpr std::size_t windows = 60;
    const Column one = pattern(windows, 37, 5), other = pattern(windows, 53, 9);
    Column apart(windows);
    for (std::size_t i = 0; i < windows; ++i) apart[i] = 15 * one[i] - 2 * other[i];
    TakenOut out(apart);
    std::vector<Regressor> all{{one, 100, {}}, {other, 10, {}}};
    all[0].made_of[0] = all[1].made_of[1] = 1;
    out.take_out_events(all);
    EXPECT_NEAR(out.of_events()[0], 15, 1e-9);
    EXPECT_NEAR(out.of_events()[1], -2, 1e-9);
    EXPECT_NEAR(out.cycles(), 15 * 100 - 2 * 10, 1e-6);
}

TEST(TakenOut, WhatHardlyAWindowHasIsLeft) {
    Column apart(40, 0);
    apart[3] = 100;
    Column events(40, 0);
    events[3] = events[4] = 1;
    TakenOut out(apart);
    out.take_out_events({{events, 50, {}}});
    EXPECT_EQ(out.cycles(), 0);
    EXPECT_EQ(apart[3], 100);
    EXPECT_TRUE(out.raised().empty());
}

TEST(TakenOut, OfWaysTheMostFrequentComesFirstAndAFewWindowsTellNone) {
    constexpr std::size_t windows = 30;
    const Column way = pattern(windows, 37, 50), copy = way;
    Column apart(windows), few(5, 1);
    for (std::size_t i = 0; i < windows; ++i) apart[i] = 3 * way[i];
    TakenOut out(apart);
    // The same twice is one.
    out.take_out_ways({{way, 200, {}}, {copy, 200, {}}});
    EXPECT_NEAR(out.cycles(), 3 * 200, 1e-6);
    // Each stands for others by how much of the way it went.
    const Column raised = out.raised();
    ASSERT_EQ(raised.size(), windows);
    double in_all = 0;
    for (std::size_t i = 0; i < windows; ++i) in_all += raised[i] > 0 ? 1 : 0;
    EXPECT_GT(in_all, windows / 2.0);

    TakenOut of_few(few);
    of_few.take_out_ways({{Column{1, 2, 3, 4, 5}, 100, {}}});
    EXPECT_EQ(of_few.cycles(), 0);
}

}  // namespace
}  // namespace tmaprobe::model
