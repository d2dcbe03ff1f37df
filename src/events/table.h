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

/// Cycles that an instruction with this event takes at retirement, as its vendor publishes them.
struct RetireLatency {
    double mean = 0, min = 0, max = 0;
};

/// One event as a table gives it, with the fields that a perf_event_attr and a planner need.
struct EventDefinition {
    std::string name;  ///< upstream's: "UOPS_RETIRED.RETIRE_SLOTS"
    std::string pmu;   ///< sysfs name of the PMU: "cpu", "cpu_core", ...; "" = the core PMU
    std::uint64_t config = 0, config1 = 0, config2 = 0;
    std::string counters;  ///< Counter as published: "0,1,2,3", "Fixed counter 0", ""
    std::string description;
    std::string modifiers;  ///< what followed ':' where it was asked for: "u", "k", "R"; never part of config
    std::optional<RetireLatency> retire_latency;
    bool deprecated = false;

    /// True for "EVENT:R", the mean latency at retirement of an event: it is sampled, never counted, and
    /// stands in the table as retire_latency.
    bool is_latency() const { return modifiers.find('R') != std::string::npos; }
};

/// How the bits of perf_event_attr.config are laid out (the kernel's sysfs `format` files).
enum class PmuFormat { intel, amd, arm, other };

/// All that one CPU's folder says.
struct Table {
    std::string cpu_id;  ///< the id that was asked for
    std::string folder;  ///< "cascadelakex"
    std::string title;   ///< "Cascade Lake"
    std::string source;  ///< where the facts come from, with version (first line of SOURCE)
    PmuFormat format = PmuFormat::other;
    std::optional<double> slots_per_cycle;       ///< "#slots" of this CPU, where its formulas ask for it
    std::string libpfm4_pmu;                     ///< libpfm4's name of this CPU ("skx"); empty: it does not know it
    std::vector<EventDefinition> events;         ///< sorted by lower-case name
    std::vector<EventDefinition> kernel_events;  ///< that the kernel names: "cycles", "topdown-retiring"; sorted
    std::vector<metrics::MetricDefinition> metrics;
};

/// Where tables come from: embedded in the binary, or a directory given by `--events`.
struct Library {
    std::optional<std::filesystem::path> directory;  ///< empty: the embedded tables
};

/// The table for a CPU id as perf spells it, or for a folder name or a short name such as "skx" (then cpu_id
/// is the folder's name, or the id that the short name stands for). Errors: bad_usage for an unknown target
/// (with a suggestion); bad_input for a file that is not what it should be (file:line:column).
Result<Table> load(const Library& library, std::string_view target);

/// Puts formulas on ordinary counters in the place of those that need Intel's PERF_METRICS (slots,
/// topdown-*), which a VM may hide. False: this CPU has none of either. Errors: bad_input for a broken file.
Result<bool> use_formulas_without_perf_metrics(const Library& library, Table& table);

/// One CPU that the library knows.
struct Target {
    std::string folder;                 ///< as --target takes it: "cascadelakex", "neoverse-n1"
    std::string title;                  ///< "Cascade Lake"; empty in a foreign tree
    std::vector<std::string> names;     ///< short ones: "clx"
    std::vector<std::string> patterns;  ///< of CPU ids, as in the mapfile
    std::string version;                ///< of the table
};

/// All CPUs of the library, sorted by folder. Errors: bad_input for a broken mapfile.
Result<std::vector<Target>> known_targets(const Library& library);

/// The folder names that the library holds, sorted.
Result<std::vector<std::string>> targets(const Library& library);

/// A data file of the library root or of a folder, e.g. "categories.json", "cascadelakex/geometry.json".
/// A file of the root that `--events DIR` lacks is read from the embedded tables: a foreign tree has only
/// the vendors' facts. Errors: unavailable when it is not there.
Result<std::string> read_data(const Library& library, std::string_view relative_path);

/// The encoding that an expression's spelling means: a table name with optional modifiers
/// ("EVENT:c1", "cpu@EVENT\\,cmask\\=1@", "topdown-retiring"), "cpu/event=0x9c,umask=1/", "rNNN", or
/// anything that libpfm4 knows ("skx::IDQ_UOPS_NOT_DELIVERED:CORE"; without "skx::" for the table's CPU).
/// Letters are not told apart by case. An event whose name two PMUs of a hybrid share is that of
/// "cpu_core" unless a PMU is named. Errors: bad_usage with a suggestion.
Result<EventDefinition> resolve(const Table& table, std::string_view spelling);

/// libpfm4's name of the other CPU whose event a spelling asks for ("skx" of "skx::IDQ_UOPS_NOT_DELIVERED"
/// where the table is of Zen 4); empty where it is this CPU's, or nobody's.
std::string other_cpu_of(const Table& table, std::string_view spelling);

}  // namespace tmaprobe::events
