#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Counts taken elsewhere, to be judged here.
struct ReplayRequest {
    /// Outputs of perf stat -x or -j; several are passes over the same workload (tmaprobe plan --passes).
    std::vector<std::filesystem::path> files;
    std::string target;  ///< CPU that counted
    int level = 1;
    std::vector<std::string> metrics;  ///< beyond the tree; "tlb" = the translation metrics
    /// What the formulas ask of the machine that counted; empty: not said. SMT is then
    /// taken as off and the run as not system-wide, with a warning where that makes a difference.
    std::optional<bool> smt, system_wide;
    std::optional<double> slots;
    events::Library library;
    std::string command_line;
};

/// Errors: bad_usage for an unknown target or metric; bad_input for an unreadable file (file:line:column).
Result<record::Record> replay(const ReplayRequest& request);

}  // namespace tmaprobe::experiments
