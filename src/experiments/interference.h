#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/resctrl/info.h"
#include "experiments/progress.h"
#include "experiments/run.h"
#include "machine/host.h"
#include "machine/topology.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// A victim, a neighbour, and what may be done about it.
struct InterferenceRequest {
    RunRequest run;         ///< how the victim is measured: level, metrics, source, tables
    std::string victim;     ///< "chase:size=8M" or "cmd:./program args"
    std::string aggressor;  ///< the same forms; "threads=2" gives it more CPUs
    std::string place =
        "l3";  ///< where the neighbour sits, as names of machine::Shared say: smt, l2, l3, package, numa
    std::optional<counters::resctrl::Limit> limit;    ///< on the neighbour
    std::optional<counters::resctrl::Limit> protect;  ///< for the victim
    std::filesystem::path resctrl_root = counters::resctrl::usual_root;
    std::vector<std::string> allocations;  ///< "l3", "mb": the victim alone under growing shares; no neighbour then
    int rounds = 10;                       ///< each measures every state once, in turn
    double seconds = 0.15;                 ///< of one measurement of a kernel
};

struct InterferenceHooks {
    OnProgress on_progress;
    std::function<bool()> interrupted;
};

/// Alone, with the neighbour, with the neighbour limited, protected from it, both; or alone under each step
/// of the allocations. Each round measures every
/// state once, so that a drift of the machine meets all states alike. One Run per state with
/// extra["state"], extra["against_alone"] (relative change of time per operation, median over rounds) and
/// its 95% interval extra["against_alone_low"/"high"].
/// Monitors of resctrl are events of the victim's run: llc_occupancy (bytes, at the last look), mbm_total_bytes
/// and mbm_local_bytes (moved within time_enabled_ns).
/// Where resctrl is missing and was asked for, a warning says why and the other states are still measured;
/// allocations are an error then.
/// Errors: bad_usage for specs, places and limits that cannot be; unavailable for too few CPUs or a
/// neighbour that dies early; interrupted before the first whole round.
Result<record::Record> interference(const InterferenceRequest& request, const machine::Host& host,
                                    const machine::Topology& topology, const InterferenceHooks& hooks);

}  // namespace tmaprobe::experiments
