#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/core/simulate.h"

namespace tmaprobe::model {

/// Branches of a window of which somebody else knows how they are foretold. Whether a target is known is asked of
/// another oracle.
class ToldBranches final : public core::BranchOracle {
  public:
    /// Of each step that is a branch, how. All must outlive this.
    ToldBranches(const trace::Trace& trace, const std::vector<core::Foretold>& foretold, core::BranchOracle& targets)
        : trace_(trace), foretold_(foretold), targets_(targets) {}

    /// Asked for each branch, in the order of the steps.
    core::Foretold foretell(const trace::StaticInstruction& branch, bool, std::uint64_t) override {
        while (next_ < trace_.steps.size() && address(next_) != branch.address) ++next_;
        return next_ < trace_.steps.size() ? foretold_[next_++] : core::Foretold::right;
    }
    core::TargetKnown knows_target(const trace::StaticInstruction& branch) override {
        return targets_.knows_target(branch);
    }

  private:
    std::uint64_t address(std::size_t step) const {
        return trace_.instructions[trace_.steps[step].instruction].address;
    }

    const trace::Trace& trace_;
    const std::vector<core::Foretold>& foretold_;
    core::BranchOracle& targets_;
    std::size_t next_ = 0;
};

}  // namespace tmaprobe::model
