#include "model/in_flight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

TEST(InFlight, ThereIsRoomWhenTheFirstEnds) {
    InFlight misses;
    EXPECT_EQ(misses.room_from(5, 1), 5u);
    misses.add(5, 20);
    misses.add(7, 15);
    EXPECT_EQ(misses.at(4), 0u);
    EXPECT_EQ(misses.at(7), 2u);
    EXPECT_EQ(misses.at(15), 1u) << "what ends then is there";
    EXPECT_EQ(misses.room_from(7, 2), 15u);
    EXPECT_EQ(misses.room_from(7, 1), 20u);
    EXPECT_EQ(misses.room_from(7, 0), 7u) << "no limit";
    EXPECT_EQ(misses.room_from(6, 2), 6u);
    misses.clear();
    EXPECT_EQ(misses.at(7), 0u);
}

TEST(InFlight, WhatBeginsAsAnotherEndsTakesItsPlace) {
    InFlight misses;
    misses.add(0, 10);
    misses.add(10, 30);
    EXPECT_EQ(misses.room_from(3, 1), 30u);
}

/// Against the plainest way to count them, in an order that is not that of time.
TEST(InFlight, AreAsManyAsWhenEachIsLookedAt) {
    Random random(3);
    for (const std::size_t limit : {1u, 4u, 16u}) {
        InFlight misses;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
        const auto taken = [&](std::uint64_t cycle) {
            return static_cast<std::size_t>(
                std::ranges::count_if(all, [&](const auto& one) { return one.first <= cycle && cycle < one.second; }));
        };
        for (std::uint64_t oldest = 0; oldest < 3000; oldest += random.below(30)) {
            misses.forget_before(oldest);
            const std::uint64_t cycle = oldest + random.below(100);
            std::uint64_t room = cycle;
            while (taken(room) >= limit) ++room;
            ASSERT_EQ(misses.at(cycle), taken(cycle));
            ASSERT_EQ(misses.room_from(cycle, limit), room);
            all.emplace_back(room, room + random.below(15 * limit));
            misses.add(all.back().first, all.back().second);
        }
    }
}

}  // namespace
}  // namespace tmaprobe::model
