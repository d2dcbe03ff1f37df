#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "counters/source.h"

namespace tmaprobe::counters::replay {

/// One counted line of a `perf stat` output.
struct Line {
    std::string event;   ///< as it was spelt there
    std::string pmu;     ///< from a "cpu_core/.../" prefix, else empty
    std::string cpu;     ///< "CPU3", "S0-D0-C1", "" = aggregated
    double value = 0;
    bool counted = true, supported = true;
    double run_ns = 0;          ///< time_running; 0 when not given
    double share = 1;           ///< running / enabled
    double variance = 0;        ///< relative, from -r; 0: not given
    std::size_t line = 0;       ///< in the file
};

/// One interval of -I, or the whole run.
struct Snapshot {
    std::optional<double> at_seconds;
    std::vector<Line> lines;
};

/// Reads `perf stat -x<sep>` and `perf stat -j` output of current and older perf versions.
/// Errors: bad_input naming file, line and column.
Result<std::vector<Snapshot>> read_counts(const std::filesystem::path& path);

/// Events with readings for one snapshot, matched to the plan's events by encoding.
Result<std::vector<record::Event>> match(const Snapshot& snapshot, const events::Table& table, const Plan& plan);

}  // namespace tmaprobe::counters::replay
