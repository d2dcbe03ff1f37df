#pragma once

// Passes over cycles in which nothing can happen, such as those of a load from DRAM: most of the cycles of
// memory-bound code, and what a simulation would spend most of its time on.

#include <cstdint>

#include "counters/model/core/front_end.h"
#include "llvm/MCA/HardwareUnits/ResourceManager.h"
#include "llvm/MCA/HardwareUnits/Scheduler.h"

namespace tmaprobe::counters::model::core {

/// Takes the pipeline over the cycles that would each be like the last one. Exact: every count is what a
/// simulation of each of these cycles would have given.
class QuietCycles {
  public:
    QuietCycles(FrontEnd& front_end, const llvm::mca::Scheduler& scheduler, llvm::mca::ResourceManager& units, bool never)
        : front_end_(front_end), scheduler_(scheduler), units_(units), never_(never) {}

    /// After a cycle in which nothing was dispatched, issued, executed or retired: how many more of the same
    /// were passed over; often 0.
    std::uint64_t pass();

  private:
    std::uint64_t passable() const;

    FrontEnd& front_end_;
    const llvm::mca::Scheduler& scheduler_;
    llvm::mca::ResourceManager& units_;
    bool never_;
    std::uint64_t not_before_ = 0;  ///< the cycle in which something is known to happen
};

}  // namespace tmaprobe::counters::model::core
