#include "model/told_branches.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

class Targets final : public core::BranchOracle {
  public:
    bool mispredicts(const trace::StaticInstruction&, bool, std::uint64_t) override {
        ADD_FAILURE() << "it is told, and not asked";
        return true;
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
    const std::vector<std::uint8_t> mispredicted{0, 0, 0, 1, 0, 0};
    Targets targets;
    ToldBranches told(trace, mispredicted, targets);
    const auto& branch = trace.instructions[1];
    EXPECT_FALSE(told.mispredicts(branch, true, 0x1000));
    EXPECT_TRUE(told.mispredicts(branch, true, 0x1000));
    EXPECT_FALSE(told.mispredicts(branch, true, 0x1000));
    // After the window nothing is known.
    EXPECT_FALSE(told.mispredicts(branch, true, 0x1000));
    EXPECT_EQ(told.knows_target(branch), core::TargetKnown::decoder);
}

}  // namespace
}  // namespace tmaprobe::model
