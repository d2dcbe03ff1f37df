#include "trace/target_table.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "trace/code_emitter.h"

namespace tmaprobe::trace {
namespace {

TEST(TargetTable, TwoAddressesAtTheSamePlacesMakeRoomForEachOther) {
    TargetTable table;
    // Both second places are the same, and both first places are of others.
    const std::uint64_t one = 0xe6c46d, other = 0xe6c4ec;
    ASSERT_EQ(CodeEmitter::second_place(one), CodeEmitter::second_place(other));
    table.enter(0x11c46d, 1);
    table.enter(0x11c4ec, 2);
    table.enter(one, 3);
    const auto written = table.enter(other, 4);
    EXPECT_GT(written.size(), 1u);
    EXPECT_EQ(table.find(one), 3u);
    EXPECT_EQ(table.find(other), 4u);
    EXPECT_EQ(table.find(0x11c46d), 1u);
    EXPECT_EQ(table.find(0x11c4ec), 2u);
}

TEST(TargetTable, WhatIsWrittenIsWhatIsFound) {
    std::mt19937_64 random(7);
    TargetTable table;
    std::unordered_map<std::uint64_t, TargetTable::Pair> memory;  // as the process has it
    std::vector<std::uint64_t> addresses;
    for (int i = 0; i < 40000; ++i) addresses.push_back(0x400000 + random() % (28 << 20));
    std::size_t stops = 0;
    for (int round = 0; round < 4; ++round)
        for (const std::uint64_t address : addresses) {
            const auto found = table.find(address);
            if (found) {
                ASSERT_EQ(*found, address * 2);
                continue;
            }
            if (round == 3) ++stops;
            for (const auto& pair : table.enter(address, address * 2)) memory[pair.place] = pair;
        }
    for (const auto& pair : table.pairs()) EXPECT_EQ(memory[pair.place].address, pair.address);
    EXPECT_EQ(memory.size(), table.pairs().size());
    for (const std::uint64_t address : addresses) {
        const auto in_memory = [&](std::uint64_t place) {
            const auto pair = memory.find(place);
            return pair != memory.end() && pair->second.address == address;
        };
        EXPECT_EQ(table.find(address).has_value(),
                  in_memory(CodeEmitter::first_place(address)) || in_memory(CodeEmitter::second_place(address)));
    }
    EXPECT_LT(stops, addresses.size() / 20) << "addresses that stop the process round after round";
}

TEST(TargetTable, NewCodeForAnAddressTakesThePlaceOfTheOld) {
    TargetTable table;
    table.enter(0x1000, 1);
    table.enter(0x1000, 2);
    EXPECT_EQ(table.find(0x1000), 2u);
    table.clear();
    EXPECT_FALSE(table.find(0x1000));
}

}  // namespace
}  // namespace tmaprobe::trace
