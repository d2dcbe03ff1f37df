#include "timing/indirect_branches.h"

#include <gtest/gtest.h>

namespace tmaprobe::timing {
namespace {

using enum IndirectPrediction;

TEST(IndirectBranches, TwoFunctionsInTurnTellHowTheyAreForetold) {
    EXPECT_EQ(judge_indirect_calls({1.3, 1.4}), by_history);
    EXPECT_EQ(judge_indirect_calls({1.35, 6.5}), by_last_target);
    EXPECT_EQ(judge_indirect_calls({1.3, 3.2}), not_known);
    EXPECT_EQ(judge_indirect_calls({0, 6.5}), not_known);
    EXPECT_EQ(judge_indirect_calls({}), not_known);
}

TEST(IndirectBranches, AreNotTakenForWorseThanTheyAreWhereOneTryIsDisturbed) {
    int tries = 0;
    EXPECT_EQ(indirect_prediction([&] { return ++tries == 1 ? IndirectCalls{1.3, 9.0} : IndirectCalls{1.4, 1.5}; }),
              by_history);
    tries = 0;
    EXPECT_EQ(indirect_prediction([&] { return ++tries == 1 ? IndirectCalls{5.0, 6.6} : IndirectCalls{1.3, 6.5}; }),
              by_last_target);
}

TEST(IndirectBranches, AreTimedHere) {
    const IndirectCalls calls = time_indirect_calls();
    EXPECT_GT(calls.same_ns, 0);
    EXPECT_GT(calls.in_turn_ns, 0);
}

}  // namespace
}  // namespace tmaprobe::timing
