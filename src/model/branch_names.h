#pragma once

#include <cstdint>
#include <unordered_map>

#include "trace/trace.h"

namespace tmaprobe::model {

/// Numbers for branches and for where they go that stay the same when code lies elsewhere: what a predictor keeps by
/// address competes by chance, and another order of functions, which changes no cost, would be another chance.
class BranchNames {
  public:
    /// By what it looks like, and as the how many-th of those that look so it was met.
    std::uint64_t of_branch(const trace::StaticInstruction& branch);
    /// By the order in which they were met; from 1 on.
    std::uint64_t of_target(std::uint64_t address);

  private:
    std::unordered_map<std::uint64_t, std::uint64_t> branches_, targets_;  ///< by address
    std::unordered_map<std::uint64_t, std::uint64_t> alike_;               ///< how many were met, by their looks
};

}  // namespace tmaprobe::model
