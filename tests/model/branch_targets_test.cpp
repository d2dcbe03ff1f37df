// What is known of branches' targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "model/branch_predictor.h"

namespace tmaprobe::model {
namespace {

using core::TargetKnown;

events::BranchForetelling two_levels() {
    events::BranchForetelling foretelling;
    foretelling.first_level_targets = 64;
    foretelling.second_level_targets = 256;
    return foretelling;
}

enum class Kind { jump, call, returns };

/// Where most of so many branches' targets are, once all were met.
TargetKnown mostly_known(std::size_t branches, std::uint64_t distance = 16, Kind kind = Kind::jump) {
    events::BranchForetelling foretelling = two_levels();
    foretelling.calls_by_line = true;
    BranchTargets targets(foretelling);
    std::array<std::size_t, 3> found{};
    for (int round = 0; round < 20; ++round)
        for (std::size_t i = 0; i < branches; ++i) {
            trace::StaticInstruction branch;
            branch.address = 0x401000 + distance * i;
            branch.call = kind == Kind::call;
            branch.returns = kind == Kind::returns;
            const TargetKnown where = targets.find(branch).where;
            if (round >= 10) ++found[static_cast<std::size_t>(where)];
        }
    return static_cast<TargetKnown>(std::max_element(found.begin(), found.end()) - found.begin());
}

TEST(BranchTargets, AsManyAreKnownAsEachLevelHolds) {
    EXPECT_EQ(mostly_known(60), TargetKnown::first_level);
    EXPECT_EQ(mostly_known(200), TargetKnown::second_level);
    EXPECT_EQ(mostly_known(2000), TargetKnown::decoder);
}

TEST(BranchTargets, OfALineTheFirstLevelKnowsSoMany) {
    const auto known_at_once = [](std::size_t lines, std::size_t of_each) {
        events::BranchForetelling foretelling = two_levels();
        foretelling.first_level_line_targets = 2;
        BranchTargets targets(foretelling);
        std::size_t known = 0;
        constexpr int rounds = 200;
        for (int round = 0; round < rounds; ++round)
            for (std::size_t i = 0; i < lines * of_each; ++i) {
                trace::StaticInstruction branch;
                constexpr std::size_t line = 64;
                branch.address = 0x401000 + line * (i / of_each) + line / of_each * (i % of_each);
                known += targets.find(branch).where == TargetKnown::first_level;
            }
        return static_cast<double>(known) / static_cast<double>(rounds * lines * of_each);
    };
    EXPECT_GT(known_at_once(8, 2), 0.98);
    EXPECT_LT(known_at_once(1, 4), 0.4) << "although it holds 64";
    EXPECT_GT(known_at_once(32, 1), 0.98);
    EXPECT_LT(known_at_once(128, 1), 0.4);
}

TEST(BranchTargets, CallsAndReturnsAPowerOfTwoApartClash) {
    for (const Kind kind : {Kind::call, Kind::returns}) {
        EXPECT_EQ(mostly_known(60, 512, kind), TargetKnown::decoder) << "in 4 of 32 sets of the second level";
        EXPECT_EQ(mostly_known(60, 72, kind), TargetKnown::first_level);
        EXPECT_EQ(mostly_known(60, 16, kind), TargetKnown::first_level);
    }
    EXPECT_EQ(mostly_known(60, 512, Kind::jump), TargetKnown::first_level);
}

TEST(BranchTargets, OneThatWasNeverMetIsHeldToBeKnownUnlessTheBoundsAsk) {
    events::CoreGeometry core;
    core.foretelling = two_levels();
    trace::StaticInstruction jump;
    jump.address = 0x401000;
    jump.branch = true;
    BranchPredictor usual(core), strict(core);
    strict.unknown_is_missed();
    EXPECT_EQ(usual.knows_target(jump), TargetKnown::first_level);
    EXPECT_EQ(strict.knows_target(jump), TargetKnown::decoder);
    EXPECT_EQ(strict.knows_target(jump), TargetKnown::first_level) << "it has been met now";
    EXPECT_EQ(BranchPredictor().knows_target(jump), TargetKnown::first_level) << "nothing is known of the core";
}

}  // namespace
}  // namespace tmaprobe::model
