#include "record/record.h"

#include <cmath>

#include "base/json_dump.h"
#include "record/text.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;

json optional_number(const std::optional<double>& value) { return value ? finite(*value) : json(nullptr); }

json summary_json(const Summary& summary) {
    if (summary.count == 0) return nullptr;
    return {{"count", summary.count},          {"median", finite(summary.median)},
            {"min", finite(summary.min)},      {"max", finite(summary.max)},
            {"mad", finite(summary.mad)},      {"low", finite(summary.low)},
            {"high", finite(summary.high)},  {"confidence", summary.confidence > 0 ? finite(summary.confidence) : json(nullptr)}};
}

json tracing_json(const std::optional<Tracing>& tracing) {
    if (!tracing) return nullptr;
    return {{"elapsed_ns", finite(tracing->elapsed_ns)},
            {"added_ns", finite(tracing->added_ns)},
            {"added_low_ns", finite(tracing->added_low_ns)},
            {"added_high_ns", finite(tracing->added_high_ns)}};
}

json processor_json(const std::optional<ProcessorTime>& processor) {
    if (!processor) return nullptr;
    return {{"user_ns", finite(processor->user_ns)}, {"system_ns", finite(processor->system_ns)}};
}

json causes_json(const std::vector<DisturbedBy>& causes) {
    json list = json::array();
    for (const auto& [cause, repetitions, median, most] : causes)
        list.push_back({{"cause", name_of(cause)}, {"repetitions", repetitions}, {"median", finite(median)}, {"most", finite(most)}});
    return list;
}

json time_json(const Time& time) {
    return {{"status", time.known ? "measured" : "unavailable"},
            {"reason", valid_utf8(time.reason)},
            {"repetitions", time.ns_per_op.count},
            {"clean", time.clean},
            {"disturbed", time.disturbed},
            {"causes", causes_json(time.causes)},
            {"clock", valid_utf8(time.clock)},
            {"operation", valid_utf8(time.operation)},
            {"ns_per_op", summary_json(time.ns_per_op)},
            {"bytes_per_second", summary_json(time.bytes_per_second)},
            {"cycles_per_op", summary_json(time.cycles_per_op)},
            {"cycles_per_byte", time.cycles_per_byte > 0 ? finite(time.cycles_per_byte) : json(nullptr)},
            {"cycles_source", valid_utf8(time.cycles_source)},
            {"tracing", tracing_json(time.tracing)},
            {"processor", processor_json(time.processor)}};
}

json event_json(const Event& event) {
    const bool counted = event.reading.time_running_ns > 0;
    return {{"name", valid_utf8(event.name)},
            {"pmu", valid_utf8(event.pmu)},
            {"config", valid_utf8(event.config)},
            {"value", counted || event.note.empty() ? finite(event.reading.value) : json(nullptr)},
            {"raw", event.reading.raw},
            {"time_enabled_ns", event.reading.time_enabled_ns},
            {"time_running_ns", event.reading.time_running_ns},
            {"pass", event.pass},
            {"group", event.group},
            {"low", optional_number(event.low)},
            {"high", optional_number(event.high)},
            {"note", valid_utf8(event.note)}};
}

bool has_value(const std::string& status) { return status != "unavailable" && status != "not_counted"; }

json metric_json(const Metric& metric) {
    const bool broken = has_value(metric.status) && !std::isfinite(metric.value);
    const bool shown = has_value(metric.status) && !broken;
    json warnings = json::array();
    for (const auto& warning : metric.warnings) warnings.push_back(valid_utf8(warning));
    return {{"name", valid_utf8(metric.name)},
            {"level", metric.level},
            {"parent", valid_utf8(metric.parent)},
            {"category", valid_utf8(metric.category)},
            {"subcategory", valid_utf8(metric.subcategory)},
            {"value", shown ? json(metric.value) : json(nullptr)},
            {"unit", valid_utf8(metric.unit)},
            {"low", shown ? finite(metric.low) : json(nullptr)},
            {"high", shown ? finite(metric.high) : json(nullptr)},
            {"status", broken ? "unavailable" : metric.status},
            {"reason", broken ? "its formula does not give a finite number" : valid_utf8(metric.reason)},
            {"over_threshold", metric.over_threshold ? json(*metric.over_threshold) : json(nullptr)},
            {"bottleneck", metric.bottleneck},
            {"counted_share", finite(metric.counted_share)},
            {"says", valid_utf8(metric.says)},
            {"next", valid_utf8(metric.next)},
            {"description", valid_utf8(metric.description)},
            {"formula", valid_utf8(metric.formula)},
            {"warnings", warnings}};
}

json pages_json(const std::optional<Pages>& pages) {
    if (!pages) return nullptr;
    json obtained = json::object();
    for (const auto& [size, bytes] : pages->obtained_bytes) obtained[valid_utf8(size)] = bytes;
    return {{"requested", valid_utf8(pages->requested)},
            {"obtained_bytes", obtained},
            {"effective", valid_utf8(pages->effective)}};
}

json run_json(const Run& run) {
    json events = json::array(), metrics = json::array();
    for (const auto& event : run.events) events.push_back(event_json(event));
    for (const auto& metric : run.metrics) metrics.push_back(metric_json(metric));
    return {{"kernel", valid_utf8(run.kernel)},
            {"variant", valid_utf8(run.variant)},
            {"parameters", valid_json(run.parameters)},
            {"pages", pages_json(run.pages)},
            {"time", time_json(run.time)},
            {"events", events},
            {"metrics", metrics},
            {"extra", valid_json(run.extra)}};
}

/// The host with every key that the schema fixes; null where this machine did not tell.
json host_json(const json& host) {
    json complete = host.is_object() ? valid_json(host) : json::object();
    for (const char* key : {"cpu_id", "cpu_model", "kernel", "hypervisor", "logical_cpus", "perf_event_paranoid"})
        complete.emplace(key, nullptr);
    for (const char* key : {"caches", "tlbs"}) complete.emplace(key, json::array());
    return complete;
}

}  // namespace

json to_json(const Record& record) {
    json runs = json::array(), warnings = json::array();
    for (const auto& run : record.runs) runs.push_back(run_json(run));
    for (const auto& warning : record.warnings)
        warnings.push_back({{"id", valid_utf8(warning.id)},
                            {"what", valid_utf8(warning.what)},
                            {"hint", valid_utf8(warning.hint)}});
    const std::string version = record.tool_version.empty() ? TMAPROBE_VERSION : record.tool_version;
    return {{"schema", schema_name},
            {"experiment", valid_utf8(record.experiment)},
            {"tool", {{"name", "tmaprobe"}, {"version", valid_utf8(version)}}},
            {"started", valid_utf8(record.started)},
            {"command_line", valid_utf8(record.command_line)},
            {"partial", record.partial},
            {"host", host_json(record.host)},
            {"source",
             {{"kind", valid_utf8(record.source.kind)},
              {"target", valid_utf8(record.source.target)},
              {"detail", valid_utf8(record.source.detail)}}},
            {"runs", runs},
            {"warnings", warnings},
            {"extra", valid_json(record.extra)}};
}

std::string modelled_pages_apart(const Run& run) {
    if (!run.pages || run.pages->effective.empty()) return {};
    std::string taken = run.pages->requested;
    if (const auto model = run.extra.find("model"); model != run.extra.end() && model->is_object())
        if (const auto assumed = model->find("assumed_pages"); assumed != model->end() && assumed->is_string()) taken = assumed->get<std::string>();
    return taken == run.pages->effective ? std::string() : taken;
}

std::string serialize(const Record& record) { return dump_indented(to_json(record)); }

std::string serialize_lines(const Record& record) {
    json whole = to_json(record);
    const json runs = std::move(whole["runs"]);
    if (runs.size() < 2) {
        whole["runs"] = runs;
        return dump_ascii_line(whole) + "\n";
    }
    std::string lines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        whole["part"] = {{"index", i}, {"of", runs.size()}};
        whole["runs"] = json::array({runs[i]});
        lines += dump_ascii_line(whole) + "\n";
    }
    return lines;
}

}  // namespace tmaprobe::record
