#include "model/branch_history.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

namespace tmaprobe::model {
namespace {

TEST(BranchHistory, IsOfTheLastBitsAndOfNoOthers) {
    constexpr std::array<unsigned, 2> lengths{8, 388};
    BranchHistory one(lengths), other(lengths);
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) one.add(random() & 1);
    for (int i = 0; i < 8; ++i) {
        const bool taken = random() & 1;
        one.add(taken);
        other.add(taken);
    }
    EXPECT_EQ(one.hash(0, 0x401000), other.hash(0, 0x401000));
    EXPECT_NE(one.hash(1, 0x401000), other.hash(1, 0x401000));
    EXPECT_NE(one.hash(0, 0x401000), one.hash(0, 0x401002));
}

TEST(BranchHistory, StepsOfTheSecondKindHaveALengthOfTheirOwn) {
    constexpr std::array<unsigned, 1> lengths{8}, of_second{3};
    BranchHistory one(lengths, of_second), other(lengths, of_second);
    one.add_second_step(1);
    EXPECT_NE(one.hash(0, 0x401000), other.hash(0, 0x401000));
    for (int i = 0; i < 8; ++i) {
        one.add(true);
        other.add(true);
    }
    EXPECT_NE(one.hash(0, 0x401000), other.hash(0, 0x401000)) << "the first kind's steps leave the second's";
    for (const std::uint32_t known : {5, 6, 7}) {
        one.add_second_step(known);
        other.add_second_step(known);
    }
    EXPECT_EQ(one.hash(0, 0x401000), other.hash(0, 0x401000));
}

TEST(BranchHistory, WhatIsTheSameInBetweenHidesNothing) {
    // Each other bit is set: what is left of 36 bits tells 2^18 histories apart, by 12 bits of the hash as good as any.
    constexpr std::array<unsigned, 1> lengths{36};
    BranchHistory history(lengths);
    std::mt19937 random(2);
    std::set<std::uint64_t> high, low;
    for (int i = 0; i < 4096; ++i) {
        history.add(random() & 1);
        high.insert(history.hash(0, 0x401000) >> 52);
        low.insert(history.hash(0, 0x401000) >> 8 & 0xfff);
        history.add(true);
    }
    // As many as 4,096 throws of 4,096 sides show.
    EXPECT_NEAR(static_cast<double>(high.size()), 4096 * 0.632, 150);
    EXPECT_NEAR(static_cast<double>(low.size()), 4096 * 0.632, 150);
}

}  // namespace
}  // namespace tmaprobe::model
