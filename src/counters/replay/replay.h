#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::counters::replay {

/// One counted line of a `perf stat` output.
struct Line {
    std::string event;  ///< as it was spelt there
    std::string where;  ///< "CPU3", "S0-D0-C1", a thread or a control group; "" = all together
    std::string unit;   ///< "msec" and the like; "" for plain counts
    double value = 0;
    bool counted = true, supported = true;
    double run_ns = 0;     ///< time_running; 0 when not given
    double share = 1;      ///< running / enabled
    double variance = 0;   ///< from -r: standard error of the mean over the mean; 0: not given
    std::size_t line = 0;  ///< in the file, counted from 1
};

/// One interval of -I, or the whole run.
struct Snapshot {
    std::optional<double> at_seconds;  ///< end of the interval
    std::vector<Line> lines;
};

/// Reads `perf stat -x<separator>` (found by itself) and `perf stat -j` output of current and older perf
/// versions: with -r, -I, -A, --per-*, hybrid prefixes, comments and metric columns, which are passed over.
/// Errors: bad_input naming file, line and column, for whatever is not such an output.
Result<std::vector<Snapshot>> read_counts(const std::filesystem::path& path);

/// The same from text; `label` stands for the file in messages.
Result<std::vector<Snapshot>> parse_counts(std::string_view label, std::string_view text);

/// What was counted, summed over CPUs, with bounds from multiplexing and -r.
struct Matched {
    std::vector<record::Event> events;
    std::vector<record::Warning> warnings;
};

/// Events of one snapshot, encoded by the table however they are spelt. Lines that were scheduled together
/// get one group. Errors: bad_input (with `label`) for counts that contradict each other.
Result<Matched> match(std::string_view label, const Snapshot& snapshot, const events::Table& table);

/// All intervals together: counts and times added up. An interval in which nothing ran adds nothing.
/// Errors: as match.
Result<Matched> match_all(std::string_view label, const std::vector<Snapshot>& snapshots, const events::Table& table);

}  // namespace tmaprobe::counters::replay
