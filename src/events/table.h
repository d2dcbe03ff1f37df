#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/definition.h"

namespace tmaprobe::events {

/// One event as a table gives it, with the fields that a perf_event_attr and a planner need.
struct EventDefinition {
    std::string name;         ///< upstream's: "UOPS_RETIRED.RETIRE_SLOTS"
    std::string pmu;          ///< sysfs name of the PMU: "cpu", "cpu_core", ...; "" = the core PMU
    std::uint64_t config = 0, config1 = 0, config2 = 0;
    std::string counters;     ///< Counter as published: "0,1,2,3", "Fixed counter 0", ""
    std::string description;
};

/// All that one CPU's folder says.
struct Table {
    std::string cpu_id;      ///< the id that was asked for
    std::string folder;      ///< "cascadelakex"
    std::string title;       ///< "Cascade Lake"
    std::string source;      ///< where the facts come from, with version (first line of SOURCE)
    std::vector<EventDefinition> events;
    std::vector<metrics::MetricDefinition> metrics;
};

/// Where tables come from: embedded in the binary, or a directory given by `--events`.
struct Library {
    std::optional<std::filesystem::path> directory;  ///< empty: the embedded tables
};

/// The table for a CPU id as perf spells it, or for a folder name. Errors: bad_usage for an unknown
/// target (with a suggestion); bad_input for a file that is not what it should be (file:line:column).
Result<Table> load(const Library& library, std::string_view target);

/// The folder names that the library holds, sorted.
Result<std::vector<std::string>> targets(const Library& library);

/// A data file of the library root or of a folder, e.g. "categories.json", "cascadelakex/geometry.json".
/// Errors: unavailable when it is not there.
Result<std::string> read_data(const Library& library, std::string_view relative_path);

/// The encoding that an expression's spelling means: a table name with optional modifiers
/// ("EVENT:c1", "cpu@EVENT\\,cmask\\=1@", "topdown-retiring"), "cpu/event=0x9c,umask=1/", "rNNN", or
/// anything that libpfm4 knows for this CPU ("skx::..."). Errors: bad_usage with a suggestion.
Result<EventDefinition> resolve(const Table& table, std::string_view spelling);

}  // namespace tmaprobe::events
