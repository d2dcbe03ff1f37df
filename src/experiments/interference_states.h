#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/resctrl/info.h"
#include "experiments/interference.h"

namespace tmaprobe::experiments {

/// One condition under which the victim is measured.
struct LoadState {
    std::string name;
    bool loaded = false;                                             ///< the neighbour works meanwhile
    std::optional<std::string> victim_schemata, aggressor_schemata;  ///< empty: no group of its own
    bool monitored = false;                                          ///< the victim's monitors are read
    std::optional<record::Allocation> allocation;                    ///< of an allocation sweep
};

/// "alone" first. Then either each step of the asked-for allocations, the victim still alone; or "with
/// neighbour" and, as asked, "neighbour limited", "victim protected" and, given both, "isolated" with the two
/// at once. Without resctrl, what needs it is left out; allocations are nothing without it.
/// Errors: bad_usage and unavailable for what this hardware does not take; those of `info` with allocations.
Result<std::vector<LoadState>> choose_states(const InterferenceRequest& request,
                                             const Result<counters::resctrl::Info>& info);

}  // namespace tmaprobe::experiments
