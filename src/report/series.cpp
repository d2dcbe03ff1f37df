#include "report/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/sizes.h"
#include "report/numbers.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
    const auto value = object.find(key);
    return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

double number_of(const json& object, const char* key) {
    const auto value = object.find(key);
    return value != object.end() && value->is_number() ? value->get<double>() : 0;
}

/// The parameters that name the curves: those in which runs differ that stand at the same place of the
/// axis in the same page mode. What follows from the axis (a count of lines) names none.
std::vector<std::string> distinguishing(const std::vector<record::Run>& runs, const std::string& axis) {
    std::map<std::string, const record::Run*> first_at;
    std::vector<std::string> keys;
    for (const auto& run : runs) {
        const auto x = run.parameters.find(axis);
        if (x == run.parameters.end()) continue;
        const auto [place, fresh] = first_at.try_emplace(x->dump() + (run.pages ? " " + run.pages->requested : ""), &run);
        if (fresh) continue;
        for (const auto& [key, value] : run.parameters.items()) {
            if (key == axis || key == "pages" || key == "iterations" || value.is_structured()) continue;
            const auto& other = place->second->parameters;
            const bool differs = !other.contains(key) || other[key] != value;
            if (differs && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
        }
    }
    return keys;
}

std::string label_of(const record::Run& run, const std::vector<std::string>& keys, bool several_kernels) {
    std::string label = run.pages ? run.pages->requested : "";
    const auto add = [&](const std::string& text) { label += (label.empty() ? "" : ", ") + text; };
    if (several_kernels) add(run.kernel + (run.variant.empty() ? "" : " " + run.variant));
    for (const auto& key : keys)
        if (run.parameters.contains(key))
            add(key + " " + (run.parameters[key].is_string() ? run.parameters[key].get<std::string>() : run.parameters[key].dump()));
    return label.empty() ? run.kernel : label;
}

}  // namespace

Curves curves_of(const record::Record& record) {
    Curves curves;
    if (const auto axis = text_of(record.extra, "axis"); !axis.empty()) curves.axis = axis;
    const bool bytes_known = std::any_of(record.runs.begin(), record.runs.end(),
                                         [](const record::Run& run) { return run.time.bytes_per_second.count > 0; });
    const auto wanted = text_of(record.extra, "quantity");
    curves.quantity = wanted == "bandwidth" && bytes_known ? "bandwidth" : "latency";
    if (record.runs.empty()) return curves;

    const auto keys = distinguishing(record.runs, curves.axis);
    const auto& first = record.runs.front();
    const bool several = std::any_of(record.runs.begin(), record.runs.end(), [&](const record::Run& run) {
        return run.kernel != first.kernel || run.variant != first.variant;
    });
    std::map<std::string, std::size_t> index;
    for (const auto& run : record.runs) {
        const auto x = run.parameters.find(curves.axis);
        if (x == run.parameters.end() || !x->is_number() || !run.time.known) continue;
        const auto& summary = curves.quantity == "bandwidth" ? run.time.bytes_per_second : run.time.ns_per_op;
        if (summary.count == 0 || !std::isfinite(summary.median)) continue;
        const std::string label = label_of(run, keys, several);
        const auto [at, fresh] = index.try_emplace(label, curves.series.size());
        if (fresh) curves.series.push_back({label, {}});
        curves.series[at->second].points.push_back({x->get<double>(), summary.median, summary.low, summary.high, &run});
    }
    for (auto& series : curves.series)
        std::stable_sort(series.points.begin(), series.points.end(),
                         [](const Point& left, const Point& right) { return left.x < right.x; });
    return curves;
}

std::string axis_text(const Curves& curves, double x) {
    if (curves.axis == "size_bytes" && x >= 1) return format_size(static_cast<std::uint64_t>(x));
    return plain_number(x);
}

bool is_doubtful(const Point& point) {
    const auto& time = point.run->time;
    return time.clean + time.disturbed > 0 && time.clean < 3;
}

std::string quantity_text(const Curves& curves, double value) {
    return curves.quantity == "bandwidth" ? format_rate(value) : format_ns(value);
}

std::vector<KneeMark> knees_of(const record::Record& record) {
    std::vector<KneeMark> knees;
    const auto entry = record.extra.find("knees");
    if (entry == record.extra.end() || !entry->is_array()) return knees;
    for (const auto& item : *entry) {
        if (!item.is_object() || number_of(item, "size_bytes") < 1) continue;
        knees.push_back({text_of(item, "kind"), text_of(item, "pages"), text_of(item, "cause"),
                         number_of(item, "size_bytes"), number_of(item, "ratio")});
    }
    return knees;
}

std::string knee_sentence(const KneeMark& knee) {
    // Found knees lie between points: three digits say no more than is known.
    const auto size = static_cast<std::uint64_t>(knee.size_bytes);
    std::uint64_t unit = 1;
    while (size / unit >= 1024 * 10) unit *= 1024;
    std::string text = fmt::format("{} at {}", knee.kind.empty() ? "knee" : knee.kind, format_size(size / unit * unit));
    if (!knee.pages.empty()) text += " with " + knee.pages + " pages";
    if (knee.ratio > 0 && knee.kind != "predicted") text += fmt::format(", x{:.2f}", knee.ratio);
    if (!knee.cause.empty()) text += ": " + knee.cause;
    return text;
}

}  // namespace tmaprobe::report
