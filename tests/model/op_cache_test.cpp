#include "model/core/op_cache.h"

#include <gtest/gtest.h>

namespace tmaprobe::model::core {
namespace {

constexpr unsigned instruction_bytes = 4;

/// Two sets of two ways; entries of at most so many instructions of 32-byte windows, 0: windows as they are.
events::CoreGeometry small_core(unsigned entry_instructions) {
    events::CoreGeometry core;
    core.op_cache_windows = 4;
    core.op_cache_ways = 2;
    core.op_cache_window_bytes = 32;
    core.op_cache_entry_instructions = entry_instructions;
    return core;
}

/// How many of the entries that these instructions begin are there.
struct Found {
    int entries = 0, there = 0;
};

Found execute(OpCache& cache, std::uint64_t begin, int instructions) {
    Found found;
    for (int i = 0; i < instructions; ++i) {
        const auto place = cache.fetch(begin + instruction_bytes * static_cast<std::uint64_t>(i), instruction_bytes);
        found.entries += place.begins_entry;
        found.there += place.is_there;
    }
    return found;
}

TEST(OpCache, AWindowIsOneEntryWhereverItIsEntered) {
    OpCache cache(small_core(0));
    EXPECT_EQ(execute(cache, 0x1000, 16).entries, 2);
    const Found again = execute(cache, 0x1008, 14);
    EXPECT_EQ(again.entries, 2);
    EXPECT_EQ(again.there, 2);
}

TEST(OpCache, AnEntryBeginsWhereABranchLedToAndEndsWhenItIsFull) {
    OpCache cache(small_core(4));
    EXPECT_EQ(execute(cache, 0x1000, 8).entries, 2) << "of four instructions each, of one window";
    EXPECT_EQ(execute(cache, 0x1000, 8).there, 2);
    const Found from_the_middle = execute(cache, 0x1008, 2);
    EXPECT_EQ(from_the_middle.entries, 1);
    EXPECT_EQ(from_the_middle.there, 0) << "no entry begins there";
    execute(cache, 0x2000, 1);
    EXPECT_EQ(execute(cache, 0x1008, 2).there, 1);
}

TEST(OpCache, TwoShortEntriesShareAWay) {
    // In turns, all of one set, which has two ways.
    const auto found_of = [](int entries, int instructions) {
        OpCache cache(small_core(4));
        Found found;
        for (int round = 0; round < 2; ++round)
            for (int i = 0; i < entries; ++i)
                found = execute(cache, 0x1000 + 64 * static_cast<std::uint64_t>(i), instructions);
        return found.there;
    };
    EXPECT_EQ(found_of(2, 3), 1);
    EXPECT_EQ(found_of(3, 3), 0) << "the one used longest ago made room";
    EXPECT_EQ(found_of(4, 2), 1);
    EXPECT_EQ(found_of(5, 2), 0);
}

TEST(OpCache, OfEntriesThatOneByChanceMakesRoomForSomeStay) {
    auto core = small_core(4);
    core.op_cache_makes_room_among = 4;
    OpCache cache(core);
    int there = 0;
    constexpr int rounds = 300;
    for (int i = 0; i < 3 * rounds; ++i)
        there += execute(cache, 0x1000 + 64 * static_cast<std::uint64_t>(i % 3), 3).there;
    EXPECT_GT(there, rounds / 2) << "of three in turns in two ways";
    EXPECT_LT(there, 5 * rounds / 2);
}

TEST(OpCache, WhatLiesInTwoWindowsMayBelongToTheSecond) {
    for (const bool of_end : {false, true}) {
        auto core = small_core(4);
        core.op_cache_window_of_end = of_end;
        OpCache cache(core);
        execute(cache, 0x1000, 1);
        EXPECT_EQ(cache.fetch(0x1018, instruction_bytes).begins_window, true) << "a branch led there";
        EXPECT_EQ(cache.fetch(0x101c, 8).begins_window, of_end);
        EXPECT_EQ(cache.fetch(0x1024, instruction_bytes).begins_window, !of_end);
    }
}

TEST(OpCache, WithoutOneNothingBegins) {
    auto core = small_core(4);
    core.op_cache_windows = 0;
    OpCache cache(core);
    EXPECT_EQ(execute(cache, 0x1000, 16).entries, 0);
}

}  // namespace
}  // namespace tmaprobe::model::core
