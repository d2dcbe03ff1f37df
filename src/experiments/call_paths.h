#pragma once

#include <vector>

#include "counters/slot_attribution.h"
#include "experiments/code_points.h"
#include "record/record.h"
#include "record/where.h"

namespace tmaprobe::experiments {

/// The calls that led to where slots were lost, over all windows.
class CallTree {
  public:
    /// Finds the callers of each window, and gives all calls their numbers: before they are located. A window whose
    /// callers cannot be found has the calls that were made in it.
    CallTree(const counters::SlotAttribution& attribution, CodePoints& points, std::vector<record::Warning>& warnings);
    /// When all are located: callers before what they call, the most slots first; functions with too little of all to
    /// be seen are part of their callers.
    std::vector<record::CallPlace> places(const CodePoints& points) const;

  private:
    const counters::SlotAttribution& attribution_;
    /// Of each window: the calls that had not returned where it begins, the innermost first, as numbers of `points`.
    std::vector<std::vector<std::size_t>> callers_;
    std::vector<std::vector<std::uint64_t>> callers_at_;  ///< their addresses
};

}  // namespace tmaprobe::experiments
