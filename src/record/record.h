#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/statistics.h"
#include "record/disturbance.h"

namespace tmaprobe::record {

/// One event's count with all that is needed to judge it.
struct Reading {
    double value = 0;                  ///< raw scaled by enabled / running
    std::uint64_t raw = 0;             ///< as the kernel gave it
    std::uint64_t time_enabled_ns = 0;
    std::uint64_t time_running_ns = 0; ///< 0: not counted, and value means nothing
};

struct Event {
    std::string name;    ///< as the table spells it
    std::string pmu;     ///< "cpu", "cpu_core", "software", "armv8_pmuv3_0", "resctrl", ...
    std::string config;  ///< "0x1000001a0"
    Reading reading;
    int pass = 0;
    int group = 0;
    std::optional<double> low, high;  ///< set by the model or by multiplexing
    std::string note;                 ///< "" or "not_supported", "not_counted", ...
};

/// One node of the tree or one further metric.
struct Metric {
    std::string name;
    int level = 0;
    std::string parent;
    std::string category;
    std::string subcategory;  ///< "core", "memory", "latency", ... within the category; may be empty
    double value = 0;
    std::string unit;  ///< "slots" (a fraction of slots), "clocks" (a fraction of cycles), "per_kilo_instructions", ...
    double low = 0, high = 0;
    std::string status = "unavailable";  ///< measured|modelled|replayed|approximate|unavailable|not_counted
    std::string reason;
    std::optional<bool> over_threshold;
    bool bottleneck = false;   ///< on the path that the report marks
    double counted_share = 1;  ///< running / enabled of its least counted event
    std::string says, next;  ///< advice: what a high value means, as in "bound by <says>", and what to try
    std::string description;
    std::string formula;
    std::vector<std::string> warnings;  ///< flags, e.g. "negative", "above_one"
};

/// Of a single run under the model's tracer: what the clock showed, and what of it the tracer added. `ns_per_op` leaves that out,
/// and its low and high are the bounds that follow from these.
struct Tracing {
    double elapsed_ns = 0;
    double added_ns = 0, added_low_ns = 0, added_high_ns = 0;
};

/// Medians over the runs of a command, with the children that it waited for.
struct ProcessorTime {
    double user_ns = 0, system_ns = 0;
};

/// Seconds are never stored: times are nanoseconds per operation of the kernel ("op" is documented by it).
struct Time {
    bool known = false;
    std::string reason;  ///< why there is no time
    std::string operation;  ///< what one op is: "block of 64 bytes", "load", "command"
    Summary ns_per_op;
    Summary bytes_per_second;   ///< count 0: the kernel moves no bytes
    Summary cycles_per_op;      ///< count 0: cycles are not known
    double cycles_per_byte = 0; ///< 0: not known
    std::string cycles_source;  ///< "counted", "clock measured by a dependent chain", ""
    int clean = 0, disturbed = 0;  ///< repetitions
    std::vector<DisturbedBy> causes;  ///< of the disturbed ones, the most frequent first
    std::string clock = "wall";  ///< or "processor": the thread's own time, where too few repetitions were clean
    std::optional<Tracing> tracing;          ///< nothing: no tracer was there
    std::optional<ProcessorTime> processor;  ///< a command's
};

/// What was asked and what the kernel really gave, in bytes per page size.
struct Pages {
    std::string requested = "4k";
    std::map<std::string, std::uint64_t> obtained_bytes;  ///< "4k", "2m", "1g", ...
    std::string effective;  ///< page size that the TLB holds ("4k" under nested paging), "" unknown
};

/// A knee of a latency or bandwidth curve.
struct Knee {
    std::uint64_t size_bytes = 0;
    double ratio = 1;     ///< after / before
    std::string cause;    ///< predicted: "L2 TLB reach (4k)"; found: ""
    std::string kind;     ///< "predicted" | "found"
};

struct Run {
    std::string kernel;
    std::string variant;
    nlohmann::json parameters = nlohmann::json::object();  ///< size_bytes, threads, cpu, ...
    std::optional<Pages> pages;
    Time time;
    std::vector<Event> events;
    std::vector<Metric> metrics;
    nlohmann::json extra = nlohmann::json::object();  ///< additions of one experiment: knees, matrix, series, ...
};

/// The page size that a model took for a run's memory where this machine's TLB was found to hold another; else empty.
std::string modelled_pages_apart(const Run& run);

struct Warning {
    std::string id;  ///< stable, snake_case: "noisy_machine"
    std::string what;
    std::string hint;
};

struct Source {
    std::string kind = "none";  ///< perf|replay|model|none
    std::string target;         ///< CPU id whose tables were used
    std::string detail;         ///< one line: why this source
};

/// The one noun that every command exchanges; schema tmaprobe.record/1, docs/record.schema.json.
struct Record {
    std::string tool_version;  ///< of the tmaprobe that measured; empty: this one
    std::string experiment = "run";  ///< run|sweep|pairs|interference|replay
    std::string command_line;
    std::string started;  ///< ISO 8601, UTC
    nlohmann::json host = nlohmann::json::object();
    Source source;
    std::vector<Run> runs;
    std::vector<Warning> warnings;
    bool partial = false;  ///< interrupted: what was measured until then
    nlohmann::json extra = nlohmann::json::object();
};

inline constexpr std::string_view schema_name = "tmaprobe.record/1";

/// Always valid against docs/record.schema.json for a record whose enumerations are right: text that is
/// not UTF-8 is replaced, a number that JSON cannot hold becomes null, and a metric whose value is one
/// becomes unavailable with the reason.
nlohmann::json to_json(const Record& record);

/// Errors: bad_input for another schema, a missing key or a wrong type, with the key's path. A null
/// bound reads as NaN: it is not known. Keys that this version does not know are passed over.
Result<Record> from_json(const nlohmann::json& json);

/// Reads a record, an array of records, or JSON Lines with one record a line (lines that
/// serialize_lines made of one record become one again). Errors: bad_input with line and column.
Result<std::vector<Record>> read_records(const std::filesystem::path& path);

/// The same from text; `name` stands for the file in errors.
Result<std::vector<Record>> parse_records(std::string_view text, const std::string& name);

/// The text of a record file: JSON, indented by one space, one newline at the end.
std::string serialize(const Record& record);

/// JSON Lines: each run on a line of its own, as a record that has this run alone. A record of several
/// runs says in "part" {"index", "of"} which it was.
std::string serialize_lines(const Record& record);

}  // namespace tmaprobe::record
