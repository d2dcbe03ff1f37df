#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/copy_windows.h"
#include "model/sampled_windows.h"

namespace tmaprobe::model {

/// Which regions' entries are wanted of a copy: of those that were begun between it and the next one, first the ones
/// that least is known of.
class EntryWishes {
  public:
    EntryWishes(const WatchedRegions& regions, const CopyWindows& windows, const SampledWindows& found)
        : regions_(regions), windows_(windows), found_(found) {}

    using Begins = std::vector<double>;  ///< of regions that are marked, by number
    /// Since this was asked before, or the start.
    Begins new_begins();
    static void add(Begins& sum, const Begins& more);

    /// `begun`: between a copy and the next one. `run_ns`: how long the copy is to run at most; `budget_ns`: of
    /// processor time, for all of them.
    std::vector<EntryWish> of(const Begins& begun, double run_ns, double budget_ns,
                              const std::function<bool()>& goes_on) const;

  private:
    Begins begins() const;

    Begins last_;
    const WatchedRegions& regions_;
    const CopyWindows& windows_;
    const SampledWindows& found_;
};

}  // namespace tmaprobe::model
