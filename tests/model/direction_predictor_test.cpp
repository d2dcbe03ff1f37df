#include "model/direction_predictor.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace tmaprobe::model {
namespace {

constexpr std::array<unsigned, 7> lengths{4, 9, 18, 36, 72, 144, 388};

/// Shares of branches that go by chance, but the same way each round.
struct Shares {
    double wrong = 0, late = 0;
};

/// In the last of so many rounds. `branches`: in turns, in a loop, whose own branch is always taken.
Shares of_pattern(std::size_t directions, std::size_t branches, std::size_t rounds,
                  const DirectionPredictor::Quick& quick = {},
                  const DirectionPredictor::Tables& tables = {lengths.size(), 8192}, std::uint64_t apart = 16) {
    std::mt19937 random(3);
    std::vector<bool> pattern(directions);
    for (std::size_t i = 0; i < directions; ++i) pattern[i] = random() & 1;
    BranchHistory history(lengths);
    DirectionPredictor predictor(tables, quick);
    const auto meet = [&](std::uint64_t branch, bool taken) {
        const auto foretold = predictor.meet(history, branch, taken).foretold;
        history.add(taken);
        return foretold;
    };
    Shares shares;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::size_t wrong = 0, late = 0;
        for (std::size_t i = 0; i < directions; ++i) {
            const auto foretold = meet(0x401000 + apart * (i % branches), pattern[i]);
            wrong += foretold == core::Foretold::wrong;
            late += foretold == core::Foretold::late;
            if (i % branches == branches - 1) meet(0x402000, true);
        }
        shares = {static_cast<double>(wrong) / static_cast<double>(directions),
                  static_cast<double>(late) / static_cast<double>(directions)};
    }
    return shares;
}

TEST(DirectionPredictor, PatternsAreKnownAfterFewRoundsWhateverIsInBetween) {
    for (const std::size_t branches : {1, 16})
        for (const std::size_t directions : {256, 1024, 4096}) {
            EXPECT_LT(of_pattern(directions, branches, 6).wrong, 0.01) << directions << " of " << branches;
            EXPECT_GT(of_pattern(directions, branches, 1).wrong, 0.3) << directions << " of " << branches;
        }
}

TEST(DirectionPredictor, TablesHoldAsMuchAsTheyHaveEntries) {
    EXPECT_LT(of_pattern(32768, 1, 10).wrong, 0.01);
    EXPECT_GT(of_pattern(131072, 1, 8).wrong, 0.3);
    EXPECT_GT(of_pattern(32768, 1, 10, {}, {lengths.size(), 1024}).wrong, 0.3);
    EXPECT_LT(of_pattern(6144, 1, 10, {}, {lengths.size(), 1024}).wrong, 0.01);
    EXPECT_GT(of_pattern(12288, 1, 10, {}, {lengths.size(), 1024}).wrong, 0.3) << "of what is too long, less than fits";
}

TEST(DirectionPredictor, ABranchHasHalfOfEachTableByABitOfItsAddress) {
    constexpr unsigned half_bit = 5;
    const auto wrong = [](std::uint64_t apart) {
        return of_pattern(6144, 2, 10, {}, {lengths.size(), 1024, half_bit}, apart).wrong;
    };
    EXPECT_LT(wrong(32), 0.05);
    EXPECT_GT(wrong(64), 0.1);
    EXPECT_GT(wrong(128), 0.1);
}

TEST(DirectionPredictor, SmallCountersFollowChance) {
    const auto wrong = [](unsigned counter_bits) {
        std::mt19937 random(9);
        BranchHistory history(lengths);
        DirectionPredictor predictor({lengths.size(), 2048, 0, counter_bits}, {});
        constexpr int turns = 100'000, learning = 50'000;
        int wrong = 0;
        for (int turn = 0; turn < turns; ++turn) {
            const bool taken = random() % 4 == 0;
            wrong += predictor.meet(history, 0x401000, taken).foretold == core::Foretold::wrong && turn >= learning;
            history.add(taken);
        }
        return wrong / static_cast<double>(turns - learning);
    };
    // A counter of two bits that is met by chance: 30%.
    EXPECT_NEAR(wrong(2), 0.305, 0.015);
    EXPECT_NEAR(wrong(3), 0.265, 0.015);
}

TEST(DirectionPredictor, TheFirstLevelKnowsFewContextsAndTheRestComesLate) {
    constexpr DirectionPredictor::Quick quick{768, 14};
    EXPECT_LT(of_pattern(512, 16, 20, quick).late, 0.02);
    const Shares many = of_pattern(4096, 16, 20, quick);
    EXPECT_LT(many.wrong, 0.01);
    EXPECT_NEAR(many.late, 0.5, 0.05);
    EXPECT_EQ(of_pattern(4096, 16, 20).late, 0) << "without a first level nothing is late";
}

/// How often a round of a loop of so many, in a loop, is late.
double late_of_short_loop(int rounds, const DirectionPredictor::Quick& quick) {
    BranchHistory history(lengths);
    DirectionPredictor predictor({lengths.size(), 8192}, quick);
    int late = 0;
    constexpr int times = 200, learning = 100;
    const auto meet = [&](std::uint64_t branch, bool taken, bool counts) {
        late += counts && predictor.meet(history, branch, taken).foretold == core::Foretold::late;
        if (!counts) predictor.meet(history, branch, taken);
        history.add(taken);
    };
    for (int time = 0; time < times; ++time) {
        for (int round = 1; round <= rounds; ++round) meet(0x401000, round < rounds, time >= learning);
        meet(0x402000, true, false);
    }
    return static_cast<double>(late) / (times - learning);
}

TEST(DirectionPredictor, CountersOfSeveralBitsDoNotForgetALoopForItsEnd) {
    // Of one taken branch before: the second round is told from the first, the third from the second is not.
    constexpr DirectionPredictor::Quick by_counters{128, 1, 3}, by_the_last_time{128, 1, 1};
    EXPECT_EQ(late_of_short_loop(2, by_counters), 0);
    for (const int rounds : {4, 5, 8}) {
        EXPECT_NEAR(late_of_short_loop(rounds, by_counters), 1, 0.1) << rounds;
        EXPECT_NEAR(late_of_short_loop(rounds, by_the_last_time), 2, 0.1) << rounds;
    }
}

TEST(DirectionPredictor, TheFirstLevelLooksBackUponALengthOfTheHistory) {
    const DirectionPredictor::Quick second_length{768, 0, 2, 2};
    const auto rounds = static_cast<int>(lengths[1]);
    EXPECT_EQ(late_of_short_loop(rounds - 1, second_length), 0);
    EXPECT_NEAR(late_of_short_loop(rounds + 2, second_length), 1, 0.1);
    EXPECT_NEAR(late_of_short_loop(rounds + 9, second_length), 1, 0.1);
}

TEST(DirectionPredictor, WhatIsAlwaysTakenTakesRoomInWhatTheFirstLevelLooksBackUpon) {
    // A branch that goes as the one before it, with so many jumps in between.
    const auto late = [](int jumps) {
        std::mt19937 random(5);
        BranchHistory history(lengths);
        DirectionPredictor predictor({lengths.size(), 8192}, {768, 14});
        int late = 0;
        for (int i = 0; i < 4000; ++i) {
            const bool taken = random() & 1;
            predictor.meet(history, 0x401000, taken);
            history.add(taken);
            for (int jump = 0; jump < jumps; ++jump) predictor.took(0x403000 + 16 * static_cast<unsigned>(jump));
            if (i >= 2000) late += predictor.meet(history, 0x402000, taken).foretold == core::Foretold::late;
            history.add(taken);
        }
        return late;
    };
    EXPECT_LT(late(2), 100);
    EXPECT_GT(late(20), 500);
}

}  // namespace
}  // namespace tmaprobe::model
