#pragma once

#include <cstdint>
#include <vector>

#include "model/core/simulate.h"
#include "model/shared_rows.h"

namespace tmaprobe::model {

/// A tournament predictor, simpler than any current core's and documented so that it can be judged:
/// conditional branches by the better of a per-address table of two-bit counters and a table indexed by
/// address and 24 outcomes of global history (both 2^14 entries), chosen per address; indirect branches by
/// their last target under the same history; returns by a stack of 32. Direct branches never miss.
class BranchPredictor final : public core::BranchOracle {
  public:
    BranchPredictor();
    bool mispredicts(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) override;

  private:
    bool conditional(std::uint64_t address, bool taken);
    bool indirect(std::uint64_t address, std::uint64_t target);

    SharedRows<std::uint8_t> local_, global_, chooser_;  ///< two-bit counters
    SharedRows<std::uint64_t> targets_;
    std::vector<std::uint64_t> returns_;
    std::uint64_t history_ = 0;
};

}  // namespace tmaprobe::model
