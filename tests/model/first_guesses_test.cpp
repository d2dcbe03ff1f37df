#include "model/first_guesses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

namespace tmaprobe::model {
namespace {

using enum core::Foretold;
constexpr std::uint64_t here = 0x5000, one = 0x8000, other = 0x8040;

trace::StaticInstruction jump(std::uint64_t address) {
    trace::StaticInstruction jump;
    jump.address = address;
    jump.length = 2;
    jump.branch = true;
    return jump;
}

TEST(FirstGuesses, WithoutRowsNoneIsMade) {
    FirstGuesses guesses(0);
    EXPECT_EQ(guesses.learn(here, one, false), right);
    EXPECT_EQ(guesses.learn(here, other, false), right);
    EXPECT_FALSE(guesses.are_made());
    EXPECT_FALSE(guesses.target(here));
}

TEST(FirstGuesses, AreWhereABranchWentWhenItWasLastMispredicted) {
    FirstGuesses guesses(512);
    EXPECT_FALSE(guesses.target(here));
    EXPECT_EQ(guesses.learn(here, one, true), right) << "met first";
    EXPECT_EQ(guesses.learn(here, one, true), right);
    EXPECT_EQ(guesses.learn(here, other, true), late);
    EXPECT_EQ(guesses.target(here), one) << "the tables knew better";
    EXPECT_EQ(guesses.learn(here, one, true), confirmed) << "it went elsewhere before";
    EXPECT_EQ(guesses.learn(here, other, false), late);
    EXPECT_EQ(guesses.target(here), other) << "nothing knew";
    EXPECT_EQ(guesses.learn(here, other, true), confirmed);
    EXPECT_EQ(guesses.learn(here, one, true), late);
}

/// How late at worst a branch is foretold that goes to one place behind the first of these branches and elsewhere
/// behind the second, once that is known.
core::Foretold behind(std::initializer_list<trace::StaticInstruction> before, core::Foretold before_was = right) {
    FirstGuesses guesses(512);
    core::Foretold worst = right;
    for (int round = 0; round < 10; ++round) {
        std::uint64_t target = one;
        worst = right;
        for (const trace::StaticInstruction& branch : before) {
            guesses.took(branch, before_was);
            worst = std::max(worst, guesses.learn(here, target, round > 0));
            target = other;
        }
    }
    return worst;
}

TEST(FirstGuesses, AreApartByTheTakenBranchBefore) {
    EXPECT_EQ(behind({jump(0x4000), jump(0x4040)}), right);
    EXPECT_EQ(behind({jump(0x4000), jump(0x4000)}), late);
}

TEST(FirstGuesses, TakeAllCallsAndReturnsForOne) {
    trace::StaticInstruction call = jump(0x4000), other_call = jump(0x4040);
    call.call = other_call.call = true;
    EXPECT_EQ(behind({call, other_call}), late);
    trace::StaticInstruction back = jump(0x4080);
    back.returns = back.indirect = true;
    EXPECT_EQ(behind({call, back}), late);
    EXPECT_EQ(behind({call, jump(0x4040)}), right);
}

TEST(FirstGuesses, TakeAllForOneWhoseOwnGuessWasWrong) {
    trace::StaticInstruction before = jump(0x4000), other_before = jump(0x4040);
    before.indirect = other_before.indirect = true;
    EXPECT_EQ(behind({before, other_before}), right);
    EXPECT_EQ(behind({before, other_before}, late), late);
    EXPECT_EQ(behind({jump(0x4000), jump(0x4040)}, late), right) << "a late direction is no guess at a target";
}

TEST(FirstGuesses, FewRowsAreSharedByManyBranches) {
    FirstGuesses guesses(2);
    for (std::uint64_t branch = 0; branch < 16; ++branch) guesses.learn(here + 64 * branch, one + branch, false);
    int known = 0;
    for (std::uint64_t branch = 0; branch < 16; ++branch) known += guesses.target(here + 64 * branch) == one + branch;
    EXPECT_EQ(known, 2);
}

}  // namespace
}  // namespace tmaprobe::model
