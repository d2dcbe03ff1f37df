#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "machine/kernel_version.h"

namespace tmaprobe::events {

/// What some versions of Linux get wrong about counting: a row of events/kernel-bugs.json, where events/README.md
/// has the rules.
struct KernelBug {
    std::string id, what, hint;
    bool spoils_counts = false;  ///< worth a warning, not only a note
    std::vector<std::pair<machine::KernelVersion, machine::KernelVersion>> affects;  ///< first with it, first without
    std::vector<std::string> needs;  ///< of the machine: "pmu", "perf_metrics", "virtual_machine"
    std::string cpus;                ///< pattern of CPU ids; empty: all
};

/// Errors: bad_input for a file that cannot be read as that, with its name.
Result<std::vector<KernelBug>> kernel_bugs(const Library& library);

/// Whether the version lies in one of its ranges. Never for an unknown version.
bool has_bug(const machine::KernelVersion& version, const KernelBug& bug);

}  // namespace tmaprobe::events
