#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "record/comparison.h"
#include "record/findings.h"
#include "record/gate.h"
#include "record/host.h"
#include "record/kinds.h"
#include "record/metric.h"
#include "record/regions.h"
#include "record/time.h"
#include "record/what_if.h"
#include "record/where.h"

namespace tmaprobe::record {

/// What was asked and what the kernel really gave, in bytes per page size.
struct Pages {
    PageKind requested = PageKind::size_4k;
    std::map<std::string, std::uint64_t> obtained_bytes;  ///< "4k", "2m", "1g", ...
    PageKind effective = PageKind::none;  ///< page size that the TLB holds (4k under nested paging); none: not known
};

/// What a run was of.
struct RunParameters {
    std::optional<std::uint64_t> size_bytes;
    std::optional<std::uint64_t> threads;
    std::vector<int> cpus;
    std::optional<std::vector<std::string>> command;  ///< empty: nothing was started, only watched
    std::optional<int> pid;
    std::string pmu;                             ///< of a hybrid: whose tree this is
    std::map<std::string, std::string> options;  ///< the kernel's own, by name
    std::vector<std::string> derived;            ///< names of options that nobody asks for: they follow from the others

    bool operator==(const RunParameters&) const = default;
};

/// Those that are one value, by name, as they would be typed: without the CPUs and the command.
std::map<std::string, std::string> single_values(const RunParameters& parameters);

/// Whether an option is none that anybody asks for: it follows from the others, or from how the run was made.
bool follows(const RunParameters& parameters, std::string_view name);

/// The same as single_values without what follows from the others, or from how the run was made: what tells one work
/// from another.
std::map<std::string, std::string> asked_values(const RunParameters& parameters);

/// What some experiments and sources add to a run.
struct RunExtra {
    std::vector<TimedRepetition> repetitions;
    std::optional<VariantChoice> variant_trial;
    std::optional<double> bus_bytes_per_second;  ///< with the lines that stores fetch
    std::string effective_pages;                 ///< by what Pages::effective was found
    std::vector<IntervalValues> series;
    std::vector<CoreValues> per_core;
    std::vector<Beside> beside;
    std::string distance;                    ///< of a pair of CPUs
    std::optional<InterferenceState> state;  ///< of an interference experiment
    std::optional<Allocation> allocation;
    std::optional<PerfDetail> perf;
    std::optional<ModelDetail> model;
    std::optional<Where> where;      ///< which places in the code take the slots
    std::optional<WhatIf> what_if;   ///< what changes of the machine would win
    std::optional<Regions> regions;  ///< what each region of the program takes
    std::optional<Gate> gate;        ///< a repeatable cost, and how it compares with a baseline
};

struct Run {
    std::string kernel;
    std::string variant;
    RunParameters parameters;
    std::optional<Pages> pages;
    Time time;
    std::vector<Event> events;
    std::vector<Metric> metrics;
    RunExtra extra;
};

/// The page size that a model took for a run's memory where this machine's TLB was found to hold another; else none.
PageKind modelled_pages_apart(const Run& run);

struct Warning {
    std::string id;  ///< stable, snake_case: "noisy_machine"
    std::string what;
    std::string hint;
};

struct Source {
    SourceKind kind = SourceKind::none;
    std::string target;  ///< CPU id whose tables were used
    std::string detail;  ///< one line: why this source
    /// The day, "2026-11-23", from which the model has this machine's own figures (`tmaprobe calibrate`). Empty: it has
    /// the tables'.
    std::string calibrated = {};
};

/// What some experiments add to a record.
struct RecordExtra {
    std::string why_source;         ///< why this source was chosen
    std::string source_hint;        ///< what to do to have a better one
    bool source_asked_for = false;  ///< the user named it
    std::optional<int> level;
    std::map<std::string, int> deeper;  ///< by node: the level that shows what it consists of
    std::optional<UsedTable> table;
    std::optional<int> exit_status;  ///< a command's own
    std::vector<PoolChange> reserved_pages;
    /// Of page modes, each with the first; of pairs, a sentence each.
    std::vector<std::variant<std::string, Comparison>> comparison;
    std::vector<std::string> verdicts;

    std::optional<SweepPlan> sweep;
    std::string axis;  ///< key of the parameters that a sweep goes over
    std::optional<CurveQuantity> quantity;
    std::vector<Knee> knees;
    std::optional<CacheShare> cache_share;

    std::optional<Pairs> pairs;

    std::string victim, aggressor, place;
    std::vector<int> aggressor_cpus;
    std::vector<AllocationControl> allocations;
};

inline constexpr std::string_view schema_name = "tmaprobe.record/1";

struct Tool {
    std::string name = "tmaprobe";
    std::string version;  ///< of the tmaprobe that measured; empty: this one
};

/// Only in JSON Lines: which of a record's runs a line holds.
struct RecordPart {
    std::uint64_t index = 0, of = 1;
};

/// The one noun that every command exchanges; schema tmaprobe.record/1, docs/record.schema.json.
struct Record {
    Tool tool;
    Experiment experiment = Experiment::run;
    std::string command_line;
    std::string started;  ///< ISO 8601, UTC
    MeasuredHost host;
    Source source;
    std::vector<Run> runs;
    std::vector<Warning> warnings;
    bool partial = false;  ///< interrupted: what was measured until then
    std::optional<RecordPart> part;
    RecordExtra extra;
};

/// Whether the tree is the project's own: the CPU's vendor publishes none, or no table has the CPU.
bool has_own_tree(const Record& record);

}  // namespace tmaprobe::record
