#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "base/sizes.h"
#include "report/findings.h"
#include "report/numbers.h"
#include "report/series.h"
#include "report/sources.h"
#include "report/states.h"
#include "report/text.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using nlohmann::json;
using record::Record;
using record::Run;

/// What a chart needs of a number; whole ones are written without a point.
json rounded(double value, int digits = 6) {
    if (!std::isfinite(value)) return nullptr;
    constexpr double exactly_whole = 1e15;
    const double nearest = std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
    if (std::fabs(nearest) < exactly_whole && nearest == std::trunc(nearest)) return static_cast<std::int64_t>(nearest);
    return nearest;
}

json clean_json(const json& value) {
    if (value.is_string()) return clean(value.get_ref<const std::string&>());
    if (value.is_number_float()) return rounded(value.get<double>());
    if (value.is_array()) {
        json array = json::array();
        for (const auto& item : value) array.push_back(clean_json(item));
        return array;
    }
    if (value.is_object()) {
        json object = json::object();
        for (const auto& [key, item] : value.items()) object[clean(key)] = clean_json(item);
        return object;
    }
    return value;
}

json clean_list(const std::vector<std::string>& texts) {
    json list = json::array();
    for (const auto& text : texts) list.push_back(clean(text));
    return list;
}

json summary_view(const Summary& summary) {
    if (summary.count == 0) return nullptr;
    return {{"median", rounded(summary.median)}, {"min", rounded(summary.min)},   {"max", rounded(summary.max)},
            {"mad", rounded(summary.mad)},       {"low", rounded(summary.low)},   {"high", rounded(summary.high)},
            {"count", summary.count}};
}

json time_view(const record::Time& time) {
    return {{"known", time.known},
            {"reason", clean(time.reason)},
            {"operation", clean(time.operation.empty() ? "operation" : time.operation)},
            {"ns", summary_view(time.ns_per_op)},
            {"rate", summary_view(time.bytes_per_second)},
            {"cyclesPerByte", time.cycles_per_byte > 0 ? rounded(time.cycles_per_byte) : json(nullptr)},
            {"clean", time.clean},
            {"disturbed", time.disturbed}};
}

/// Metrics in the order of the tree, each with its depth; the page builds its charts from these rows.
json metrics_view(const Run& run, json& definitions) {
    std::vector<TreeRow> rows = tree_rows(run.metrics);
    for (const auto* metric : other_metrics(run.metrics)) rows.push_back({metric, 0});
    json view = json::array();
    for (const auto& row : rows) {
        const auto& metric = *row.metric;
        const std::string name = clean(metric.name);
        if (!definitions.contains(name))
            definitions[name] = {{"level", metric.level},
                                 {"parent", clean(metric.parent)},
                                 {"category", clean(metric.category)},
                                 {"subcategory", clean(metric.subcategory)},
                                 {"of", share_of(metric)},
                                 {"unit", clean(metric.unit)},
                                 {"description", clean(metric.description)},
                                 {"formula", clean(metric.formula)}};
        const bool shown = has_value(metric);
        view.push_back({{"name", name},
                        {"depth", row.depth},
                        {"value", shown ? rounded(metric.value) : json(nullptr)},
                        {"low", shown ? rounded(metric.low) : json(nullptr)},
                        {"high", shown ? rounded(metric.high) : json(nullptr)},
                        {"text", clean(value_text(metric))},
                        {"bounds", bounds_text(metric)},
                        {"status", status_words(metric)}});
        json& last = view.back();
        if (metric.counted_share < 0.995) last["counted"] = rounded(metric.counted_share);
        if (metric.bottleneck) last["bottleneck"] = true;
        if (!metric.reason.empty()) last["reason"] = clean(metric.reason);
        if (!metric.warnings.empty()) last["flags"] = clean_list(metric.warnings);
    }
    return view;
}

/// Interval samples turned into one list per metric.
json intervals_view(const Run& run) {
    const auto series = run.extra.find("series");
    if (series == run.extra.end() || !series->is_array() || series->empty()) return nullptr;
    json at = json::array();
    std::map<std::string, json> lines;
    for (const auto& sample : *series) {
        if (!sample.is_object()) continue;
        const auto time = sample.find("at_seconds");
        at.push_back(time != sample.end() && time->is_number() ? rounded(time->get<double>()) : json(nullptr));
        const auto metrics = sample.find("metrics");
        if (metrics == sample.end() || !metrics->is_object()) continue;
        for (const auto& [name, value] : metrics->items()) {
            json& line = lines[clean(name)];
            if (line.is_null()) line = json::array();
            while (line.size() + 1 < at.size()) line.push_back(nullptr);
            line.push_back(value.is_number() ? rounded(value.get<double>()) : json(nullptr));
        }
    }
    json view = {{"at", at}, {"lines", json::object()}};
    for (const auto& [name, line] : lines) view["lines"][name] = line;
    return view;
}

std::string obtained_text(const Run& run) {
    std::string text;
    if (!run.pages) return text;
    for (const auto& [size, bytes] : run.pages->obtained_bytes)
        if (bytes) text += (text.empty() ? "" : " + ") + format_size(bytes) + " in " + size;
    return text;
}

json run_view(const Record& record, const Run& run, json& definitions) {
    json steps = json::array();
    for (const auto& step : next_steps(record, run))
        steps.push_back({{"what", clean(step.what)}, {"command", clean(step.command)}});
    json monitors = json::array();
    for (const auto& monitored : monitors_of(run))
        monitors.push_back({{"title", monitored.title}, {"text", monitor_text(monitored)}, {"value", rounded(monitored.value)}});
    const auto change = against_alone(run);
    json allocation;
    if (const auto step = allocation_of(run))
        allocation = {{"control", clean(step->control)}, {"value", rounded(step->value)}, {"unit", clean(step->unit)}};
    return {{"label", clean(run_label(run))},
            {"pages", clean(pages_label(run))},
            {"obtained", clean(obtained_text(run))},
            {"effective", clean(run.pages ? run.pages->effective : "")},
            {"state", clean(state_of(run))},
            {"change", change ? json{rounded(change->value), rounded(change->low), rounded(change->high)} : json(nullptr)},
            {"monitors", monitors},
            {"allocation", allocation},
            {"time", time_view(run.time)},
            {"metrics", metrics_view(run, definitions)},
            {"verdict", run.metrics.empty() ? "" : clean(verdict(record, run))},
            {"steps", steps},
            {"beside", run.extra.contains("beside") ? clean_json(run.extra["beside"]) : json(nullptr)},
            {"intervals", intervals_view(run)}};
}

/// Points as columns: a page of hundreds of sweeps is mostly these.
json points_view(const std::vector<Point>& points) {
    constexpr int exact = 15, drawn = 4;
    json x = json::array(), value = json::array(), low = json::array(), high = json::array();
    for (const auto& point : points) {
        x.push_back(rounded(point.x, exact));
        value.push_back(rounded(point.value, drawn));
        low.push_back(rounded(point.low, drawn));
        high.push_back(rounded(point.high, drawn));
    }
    return {{"x", std::move(x)}, {"value", std::move(value)}, {"low", std::move(low)}, {"high", std::move(high)}};
}

/// Translation metrics along one curve: name -> values at the curve's points, null where there is none.
std::map<std::string, json> metric_lines(const Series& series, std::size_t index) {
    std::map<std::string, json> lines;
    for (std::size_t i = 0; i < series.points.size(); ++i)
        for (const auto& metric : series.points[i].run->metrics) {
            if (metric.category != "tlb" || !has_value(metric)) continue;
            auto [line, fresh] = lines.try_emplace(clean(metric.name));
            if (fresh)
                line->second = {{"series", index}, {"status", metric.status}, {"share", is_share(metric)},
                                {"values", json(std::vector<json>(series.points.size()))}};
            line->second["values"][i] = rounded(metric.value, 4);
        }
    return lines;
}

json curves_view(const Record& record) {
    const Curves curves = curves_of(record);
    json series = json::array(), under = json::object();
    for (std::size_t index = 0; index < curves.series.size(); ++index) {
        const auto& one = curves.series[index];
        series.push_back({{"label", clean(one.label)}, {"points", points_view(one.points)}});
        for (auto& [name, line] : metric_lines(one, index)) under[name].push_back(std::move(line));
    }
    json knees = json::array();
    for (const auto& knee : knees_of(record))
        knees.push_back({{"kind", clean(knee.kind)}, {"pages", clean(knee.pages)}, {"x", rounded(knee.size_bytes)}, {"text", clean(knee_sentence(knee))}});
    return {{"axis", clean(curves.axis)}, {"quantity", curves.quantity}, {"series", series}, {"metrics", under}, {"knees", knees}};
}

json record_view(const Record& record, json& definitions) {
    json warnings = json::array();
    for (const auto& warning : record.warnings)
        warnings.push_back({{"what", clean(warning.what)}, {"hint", clean(warning.hint)}});
    auto said = sentences(record, "verdicts");
    for (auto& sentence : comparison_sentences(record)) said.push_back(std::move(sentence));
    json view = {{"command", clean(record.command_line)},
                 {"experiment", record.experiment},
                 {"started", clean(record.started)},
                 {"version", clean(record.tool_version)},
                 {"partial", record.partial},
                 {"word", source_word(record)},
                 {"source", clean(source_sentence(record))},
                 {"host", clean(host_sentence(record))},
                 {"hostName", clean(host_text(record, "name"))},
                 {"cpu", clean(host_text(record, "cpu_model"))},
                 {"warnings", warnings},
                 {"sentences", clean_list(said)},
                 {"modes", differ_in_pages_only(record.runs)},
                 {"runs", json::array()}};
    if (record.experiment == "sweep") {
        view["curves"] = curves_view(record);
        view["label"] = record.runs.empty() ? "" : clean(record.runs.front().kernel + " " + record.runs.front().variant);
    } else {
        for (const auto& run : record.runs) view["runs"].push_back(run_view(record, run, definitions));
        view["label"] = record.runs.empty() ? "" : clean(run_label(record.runs.front()));
    }
    if (const auto pairs = record.extra.find("pairs"); pairs != record.extra.end() && pairs->is_object())
        view["pairs"] = clean_json(*pairs);
    return view;
}

}  // namespace

json page_view(const Records& records) {
    json definitions = json::object();
    json views = json::array();
    for (const auto& record : records) views.push_back(record_view(record, definitions));
    return {{"version", TMAPROBE_VERSION}, {"definitions", definitions}, {"records", views}};
}

}  // namespace tmaprobe::report
