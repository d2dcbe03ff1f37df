#pragma once

#include <cstdint>
#include <vector>

#include "model/branch_history.h"
#include "model/direction_predictor.h"

namespace tmaprobe::model {

/// As BranchPredictor, with four tables of up to 200 branches of history, of twice as many entries: nearly as good, and
/// twice as quick. What is met first is foretold right, and nothing late: which contexts a first level has is forgotten
/// and learnt again all the time, so that windows would differ by it. Branches and targets are any numbers that tell
/// them apart.
class QuickPredictor {
  public:
    /// `entries`: of each table of BranchPredictor, a power of 2.
    explicit QuickPredictor(unsigned entries);
    /// Whether this branch is mispredicted, which went so. Learns from the answer.
    bool conditional(std::uint64_t branch, bool taken);
    /// `target`: not 0.
    bool indirect(std::uint64_t branch, std::uint64_t target);

  private:
    BranchHistory history_;
    DirectionPredictor directions_;
    std::vector<std::uint64_t> targets_;
    std::uint64_t recent_ = 0;  ///< directions and targets, by which indirect branches are foretold
};

}  // namespace tmaprobe::model
