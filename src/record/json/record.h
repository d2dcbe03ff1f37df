// How a record stands in JSON: docs/record.schema.json is made from these descriptions.
#pragma once

#include "base/json/fields.h"
#include "record/json/findings.h"
#include "record/json/gate.h"
#include "record/json/host.h"
#include "record/json/metric.h"
#include "record/json/regions.h"
#include "record/json/sources.h"
#include "record/json/time.h"
#include "record/json/what_if.h"
#include "record/json/where.h"
#include "record/record.h"

namespace tmaprobe::record {

enum class Schema { version_1 };

}  // namespace tmaprobe::record

template <>
struct tmaprobe::Names<tmaprobe::record::Schema> {
    static constexpr std::array<std::pair<record::Schema, std::string_view>, 1> values{
        {{record::Schema::version_1, record::schema_name}}};
};

namespace tmaprobe::json {

template <>
struct Description<record::Pages> {
    using T = record::Pages;
    static constexpr std::string_view name = "pages",
                                      meaning = "What pages were asked for, and what the kernel really gave";
    static constexpr auto fields =
        std::make_tuple(field("requested", &T::requested, "Page mode that was asked for; empty: the base page"),
                        field("obtained_bytes", &T::obtained_bytes, "Bytes really mapped with each page size"),
                        field("effective", &T::effective, "Page size that the TLB holds; empty when not known"));
};

template <>
struct Description<record::RunParameters> {
    using T = record::RunParameters;
    static constexpr std::string_view name = "parameters", meaning = "What the run was of";
    static constexpr auto fields = std::make_tuple(
        optional("size_bytes", &T::size_bytes, "Of the kernel's memory"),
        optional("threads", &T::threads, "Of the kernel"),
        optional("cpus", &T::cpus, "That it ran on, or that were counted"),
        optional("command", &T::command, "Words of the command; none: nothing was started, only watched"),
        optional("pid", &T::pid, "Of the process that was watched"),
        optional("pmu", &T::pmu, "Of a hybrid: the PMU whose counts these are"),
        optional("derived", &T::derived, "Names of the kernel's options that follow from the others"),
        rest(&T::options, "Options of the kernel, by name, as they came out"));
};

template <>
struct Description<record::RunExtra> {
    using T = record::RunExtra;
    static constexpr std::string_view name = "run_extra", meaning = "What some experiments and sources add to a run";
    static constexpr auto fields = std::make_tuple(
        optional("repetitions", &T::repetitions,
                 "Every timed repetition of a kernel or run of a command, in the order in which they ran; a traced run "
                 "only where it is "
                 "the only one"),
        optional("variant_trial", &T::variant_trial, "How the kernel's vectors were chosen"),
        optional("bus_bytes_per_second", &T::bus_bytes_per_second,
                 "What the bus to memory moves at the program's rate if no cache holds the data: with the lines that "
                 "stores fetch"),
        optional("effective_pages", &T::effective_pages, "By what pages.effective was found, in one line"),
        optional("series", &T::series, "Interval by interval, with --interval"),
        optional("per_core", &T::per_core, "Core by core, where whole CPUs were counted"),
        optional("beside", &T::beside, "A second source's values, with --source perf,model"),
        optional("class", &T::distance, "pairs: distance of the two CPUs, as in pair_class"), inlined(&T::state),
        optional("allocation", &T::allocation, "interference: the step of an allocation sweep"),
        optional("perf", &T::perf, "What the counters say beside the counts"),
        optional("model", &T::model, "What the model ran on"),
        optional("where", &T::where, "Which places in the code take the slots: tmaprobe where"),
        optional("what_if", &T::what_if, "What changes of the machine would win: tmaprobe what-if"),
        optional("regions", &T::regions, "What each region of the program takes: tmaprobe/region.h"),
        optional("gate", &T::gate, "A repeatable cost, and how it compares with a baseline: tmaprobe gate"));
};

template <>
struct Description<record::Run> {
    using T = record::Run;
    static constexpr std::string_view name = "run", meaning = "One kernel or command with one set of parameters";
    static constexpr auto fields = std::make_tuple(
        field("kernel", &T::kernel, "Name of the kernel; command; or the file that was replayed"),
        field("variant", &T::variant, "Of the kernel"), field("parameters", &T::parameters, "What the run was of"),
        field("pages", &T::pages, "null: the run used no memory of its own"),
        field("time", &T::time, "How long one operation takes"),
        field("events", &T::events, "Counts, as the source gave them"),
        field("metrics", &T::metrics, "The tree and further metrics"),
        field("extra", &T::extra, "What some experiments and sources add"));
};

template <>
struct Description<record::Warning> {
    using T = record::Warning;
    static constexpr std::string_view name = "warning", meaning = "What a reader must know to judge the values";
    static constexpr auto fields = std::make_tuple(
        field("id", &T::id, "Stable, snake_case; docs/messages.md has them all"), field("what", &T::what, "What is so"),
        field("hint", &T::hint, "What to do about it; may be empty"));
};

template <>
struct Description<record::Source> {
    using T = record::Source;
    static constexpr std::string_view name = "source", meaning = "Where the counts come from";
    static constexpr auto fields =
        std::make_tuple(field("kind", &T::kind, "counted, read from a perf stat file, simulated, or none (time alone)"),
                        field("target", &T::target, "CPU id whose event tables were used"),
                        field("detail", &T::detail, "Why this source, in one line"),
                        optional("calibrated", &T::calibrated,
                                 "The day on which the model's figures of this machine were measured; without it they "
                                 "are the tables'"));
};

template <>
struct Description<record::RecordExtra> {
    using T = record::RecordExtra;
    static constexpr std::string_view name = "record_extra", meaning = "What some experiments add to a record";
    static constexpr auto fields = std::make_tuple(
        optional("why_source", &T::why_source, "Why this source was chosen, in one line"),
        optional("source_hint", &T::source_hint, "What to do to have a better one"),
        optional("source_asked_for", &T::source_asked_for, "True: the user named the source"),
        optional("level", &T::level, "Of the tree that was asked for"),
        optional("deeper", &T::deeper, "By node of the tree: the level at which it is divided further"),
        optional("table", &T::table, "The tables that were used"),
        optional("exit_status", &T::exit_status,
                 "A command's own: as a shell gives it, 128 + signal where one ended it"),
        optional("reserved_pages", &T::reserved_pages,
                 "Huge pages that --reserve-pages put into the kernel's pools for this run, and gave back after it"),
        optional("comparison", &T::comparison,
                 "Each further page mode against the first; of pairs, a sentence for each class"),
        optional("verdicts", &T::verdicts, "What a sweep or an interference experiment says, in sentences"),
        optional("sweep", &T::sweep, "What was asked of a sweep"),
        optional("axis", &T::axis, "Key of the parameters that a sweep goes over"),
        optional("quantity", &T::quantity,
                 "What a sweep's curves show: latency in ns per operation, or bandwidth in bytes per second"),
        optional("knees", &T::knees, "Knees of a sweep's curves, predicted and found"),
        optional("cache_share", &T::cache_share, "How much of the last-level cache the machine really gave one core"),
        optional("pairs", &T::pairs, "What two CPUs pay for sharing a cache line"),
        optional("victim", &T::victim, "interference: what was measured, as --victim has it"),
        optional("aggressor", &T::aggressor, "interference: what ran beside it, as --aggressor has it"),
        optional("place", &T::place, "interference: where the aggressor ran: smt, l2, l3, package, numa"),
        optional("aggressor_cpus", &T::aggressor_cpus, "interference: its CPUs"),
        optional("allocations", &T::allocations, "interference: what was swept over instead"));
};

template <>
struct Description<record::Tool> {
    using T = record::Tool;
    static constexpr std::string_view name = "tool", meaning = "What wrote the record";
    static constexpr auto fields = std::make_tuple(
        added("name", &T::name, "tmaprobe"),
        property(
            "version",
            [](const T& tool) { return tool.version.empty() ? std::string(TMAPROBE_VERSION) : tool.version; },
            [](T& tool, std::string version) { tool.version = std::move(version); }, "Of the tmaprobe that measured"));
};

template <>
struct Description<record::RecordPart> {
    using T = record::RecordPart;
    static constexpr std::string_view name = "part", meaning = "Which of a record's runs a line of JSON Lines holds";
    static constexpr auto fields = std::make_tuple(field("index", &T::index, "Place of the run, from 0"),
                                                   field("of", &T::of, "Runs of the record").at_least(1));
};

template <>
struct Description<record::Record> {
    using T = record::Record;
    static constexpr std::string_view
        name = "record",
        meaning =
            "What one tmaprobe command measured. Keys may be added within version 1; those listed here keep "
            "their names, types and units. A number that is not known is null, never NaN and never 0 in its place.";
    static constexpr auto fields = std::make_tuple(
        property(
            "schema", [](const T&) { return record::Schema::version_1; }, [](T&, record::Schema) {}, "Of this version"),
        field("experiment", &T::experiment, "Which command measured it"),
        field("tool", &T::tool, "What wrote the record"),
        field("started", &T::started, "ISO 8601, UTC; empty when not known"),
        field("command_line", &T::command_line, "As it was typed; running it again measures the same"),
        field("partial", &T::partial, "Interrupted: holds what was measured until then"),
        field("host", &T::host, "The machine that ran the tool"),
        field("source", &T::source, "Where the counts come from"), field("runs", &T::runs, "What was measured"),
        field("warnings", &T::warnings, "What a reader must know to judge the values"),
        optional("part", &T::part, "Only in JSON Lines: which of the record's runs this line holds"),
        field("extra", &T::extra, "What some experiments add"));
};

}  // namespace tmaprobe::json
