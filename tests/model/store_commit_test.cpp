// How stores leave the store buffer: cycles as a Zen 3 takes them by the clock.

#include "model/core/store_commit.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tmaprobe::model::core {
namespace {

events::CoreGeometry zen3() {
    events::CoreGeometry core;
    core.stores_committed = 2;
    core.part_stores = {.unit_bytes = 4, .failed_cycles = 7, .again_cycles = 3, .again_within = 4};
    return core;
}

using Stores = std::vector<std::pair<std::uint64_t, unsigned>>;  ///< address and bytes

/// Of these stores, over and over, none of which waits for anything but the others.
double cycles_each_round(const events::CoreGeometry& core, const Stores& stores) {
    StoreCommit commit(core);
    constexpr unsigned rounds = 1000;
    std::uint64_t last = 0;
    for (unsigned round = 0; round < rounds; ++round)
        for (const auto& [address, bytes] : stores) last = commit.leaves(0x1000 + address, bytes, 1).cycle;
    return static_cast<double>(last) / rounds;
}

TEST(StoreCommit, AnotherStoreToAUnitThatOneFilledInPartWaitsIfOthersLeftBetween) {
    const events::CoreGeometry core = zen3();
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {64, 1}}), 5, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 2}, {64, 8}, {128, 8}}), 6, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {64, 8}, {128, 8}, {192, 8}}), 7, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {64, 8}, {128, 8}, {192, 8}, {256, 8}}), 5, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {64, 8}, {1, 1}, {128, 8}}), 10, 0.1) << "the same four bytes";
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {64, 8}, {4, 1}, {128, 8}}), 7, 0.1) << "the next four";
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {64, 8}, {0, 4}, {128, 8}}), 7, 0.1) << "the second is whole";
    EXPECT_NEAR(cycles_each_round(core, {{3, 2}, {64, 8}, {128, 8}}), 6, 0.1) << "parts of two units";
}

TEST(StoreCommit, WholeUnitsAndStoresSideBySideWaitForNothing) {
    const events::CoreGeometry core = zen3();
    EXPECT_NEAR(cycles_each_round(core, {{0, 4}, {64, 4}}), 2, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {1, 1}}), 1, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {0, 4}}), 1, 0.1);
    EXPECT_NEAR(cycles_each_round(core, {{0, 1}, {8, 8}}), 1, 0.1);
    EXPECT_NEAR(cycles_each_round({}, {{0, 1}, {64, 1}}), 2, 0.1) << "nothing is known of it";
}

TEST(StoreCommit, StoresToOneBlockFillAUnitTogether) {
    const events::CoreGeometry core = zen3();
    StoreCommit commit(core);
    EXPECT_TRUE(commit.leaves(0x1000, 2, 1).in_part);
    EXPECT_FALSE(commit.leaves(0x1002, 2, 1).in_part) << "with the one before";
    EXPECT_TRUE(commit.leaves(0x2000, 2, 1).in_part);
    EXPECT_TRUE(commit.leaves(0x1002, 2, 1).in_part) << "the first half is long gone";
    EXPECT_FALSE(commit.leaves(0x1004, 4, 1).in_part);
    EXPECT_TRUE(commit.leaves(0x1009, 8, 1).in_part);
    EXPECT_FALSE(commit.leaves(0x1040, 32, 1).in_part);
    EXPECT_TRUE(commit.leaves(0x107e, 4, 1).in_part) << "over the end of a line";
}

TEST(StoreCommit, LeavesInOrderAndAsItsLineIsOwned) {
    const events::CoreGeometry core;
    StoreCommit commit(core);
    EXPECT_EQ(commit.leaves(0x1000, 8, 100).cycle, 100u);
    EXPECT_EQ(commit.leaves(0x2000, 8, 5).cycle, 101u);
    EXPECT_EQ(commit.leaves(0x303c, 8, 5).cycle, 103u) << "to two blocks";
}

}  // namespace
}  // namespace tmaprobe::model::core
