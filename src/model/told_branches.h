#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/core/simulate.h"

namespace tmaprobe::model {

/// Branches of a window of which somebody else knows which are mispredicted. Whether a target is known is asked of
/// another oracle.
class ToldBranches final : public core::BranchOracle {
  public:
    /// Of each step, not 0: it is a branch that is mispredicted. All must outlive this.
    ToldBranches(const trace::Trace& trace, const std::vector<std::uint8_t>& mispredicted, core::BranchOracle& targets)
        : trace_(trace), mispredicted_(mispredicted), targets_(targets) {}

    /// Asked for each branch, in the order of the steps.
    bool mispredicts(const trace::StaticInstruction& branch, bool, std::uint64_t) override {
        while (next_ < trace_.steps.size() && address(next_) != branch.address) ++next_;
        return next_ < trace_.steps.size() && mispredicted_[next_++] != 0;
    }
    core::TargetKnown knows_target(const trace::StaticInstruction& branch) override {
        return targets_.knows_target(branch);
    }

  private:
    std::uint64_t address(std::size_t step) const {
        return trace_.instructions[trace_.steps[step].instruction].address;
    }

    const trace::Trace& trace_;
    const std::vector<std::uint8_t>& mispredicted_;
    core::BranchOracle& targets_;
    std::size_t next_ = 0;
};

}  // namespace tmaprobe::model
