#pragma once

#include <cstdint>
#include <vector>

#include "model/branch_history.h"
#include "model/direction_predictor.h"

namespace tmaprobe::model {

/// As BranchPredictor, with four tables of up to 200 branches of history, of twice as many entries: nearly as good, and
/// twice as quick. What is met first is foretold right. Branches and targets are any numbers that tell them apart.
class QuickPredictor {
  public:
    explicit QuickPredictor(const events::BranchForetelling& foretelling = {});
    /// How this branch was foretold, which went so. Learns from the answer.
    core::Foretold conditional(std::uint64_t branch, bool taken);
    /// A branch that is always taken, and of which it is known where it goes.
    void took(std::uint64_t branch) { directions_.took(branch); }
    /// `target`: not 0.
    core::Foretold indirect(std::uint64_t branch, std::uint64_t target);

  private:
    BranchHistory history_;
    DirectionPredictor directions_;
    std::vector<std::uint64_t> targets_;
    std::uint64_t recent_ = 0;  ///< directions and targets, by which indirect branches are foretold
};

}  // namespace tmaprobe::model
