#include "model/told_branches.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

class Targets final : public core::BranchOracle {
  public:
    core::Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override {
        ADD_FAILURE() << "it is told, and not asked";
        return core::Foretold::wrong;
    }
    core::TargetKnown knows_target(const trace::StaticInstruction&) override { return core::TargetKnown::decoder; }
};

TEST(ToldBranches, EachStepHasItsOwnAnswer) {
    trace::Trace trace;
    trace.instructions.resize(2);
    trace.instructions[0].address = 0x1000;
    trace.instructions[1].address = 0x1004;
    trace.instructions[1].branch = trace.instructions[1].conditional = true;
    for (int turn = 0; turn < 3; ++turn) {
        trace.steps.push_back({0, 0, 0});
        trace.steps.push_back({1, 0, 0});
    }
    using enum core::Foretold;
    const std::vector<core::Foretold> foretold{right, late, right, wrong, right, right};
    Targets targets;
    ToldBranches told(trace, foretold, targets);
    const auto& branch = trace.instructions[1];
    EXPECT_EQ(told.foretell(branch, true, 0x1000), late);
    EXPECT_EQ(told.foretell(branch, true, 0x1000), wrong);
    EXPECT_EQ(told.foretell(branch, true, 0x1000), right);
    // After the window nothing is known.
    EXPECT_EQ(told.foretell(branch, true, 0x1000), right);
    EXPECT_EQ(told.knows_target(branch), core::TargetKnown::decoder);
}

}  // namespace
}  // namespace tmaprobe::model
