#include "report/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/sizes.h"
#include "report/numbers.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

/// A parameter as a number, where it is one.
std::optional<double> number_of(const record::Run& run, const std::string& key) {
    if (key == "size_bytes" && run.parameters.size_bytes) return static_cast<double>(*run.parameters.size_bytes);
    if (key == "threads" && run.parameters.threads) return static_cast<double>(*run.parameters.threads);
    const auto option = run.parameters.options.find(key);
    if (option == run.parameters.options.end()) return std::nullopt;
    double number = 0;
    const char* const end = option->second.data() + option->second.size();
    const auto parsed = std::from_chars(option->second.data(), end, number);
    return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

/// The parameters that name the curves: those in which runs differ that stand at the same place of the
/// axis in the same page mode. What follows from the axis (a count of lines) names none.
std::vector<std::string> distinguishing(const std::vector<record::Run>& runs, const std::string& axis) {
    std::map<std::pair<double, record::PageKind>, const record::Run*> first_at;
    std::vector<std::string> keys;
    for (const auto& run : runs) {
        const auto x = number_of(run, axis);
        if (!x) continue;
        const auto [place, fresh] =
            first_at.try_emplace({*x, run.pages ? run.pages->requested : record::PageKind::none}, &run);
        if (fresh) continue;
        const auto others = record::single_values(place->second->parameters);
        for (const auto& [key, value] : record::single_values(run.parameters)) {
            if (key == axis || key == "pages" || key == "iterations") continue;
            const auto other = others.find(key);
            const bool differs = other == others.end() || other->second != value;
            if (differs && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
        }
    }
    return keys;
}

std::string label_of(const record::Run& run, const std::vector<std::string>& keys, bool several_kernels) {
    std::string label = run.pages ? text_of(run.pages->requested) : "";
    const auto add = [&](const std::string& text) { label += (label.empty() ? "" : ", ") + text; };
    if (several_kernels) add(run.kernel + (run.variant.empty() ? "" : " " + run.variant));
    if (!keys.empty())
        for (const auto& [key, value] : record::single_values(run.parameters))
            if (std::find(keys.begin(), keys.end(), key) != keys.end()) add(key + " " + value);
    return label.empty() ? run.kernel : label;
}

}  // namespace

Curves curves_of(const record::Record& record) {
    Curves curves;
    if (!record.extra.axis.empty()) curves.axis = record.extra.axis;
    const bool bytes_known = std::any_of(record.runs.begin(), record.runs.end(),
                                         [](const record::Run& run) { return run.time.bytes_per_second.count > 0; });
    if (bytes_known) curves.quantity = record.extra.quantity.value_or(record::CurveQuantity::latency);
    if (record.runs.empty()) return curves;

    const auto keys = distinguishing(record.runs, curves.axis);
    const auto& first = record.runs.front();
    const bool several = std::any_of(record.runs.begin(), record.runs.end(), [&](const record::Run& run) {
        return run.kernel != first.kernel || run.variant != first.variant;
    });
    std::map<std::string, std::size_t> index;
    for (const auto& run : record.runs) {
        const auto x = number_of(run, curves.axis);
        if (!x || !run.time.known) continue;
        const auto& summary =
            curves.quantity == record::CurveQuantity::bandwidth ? run.time.bytes_per_second : run.time.ns_per_op;
        if (summary.count == 0 || !std::isfinite(summary.median)) continue;
        const std::string label = label_of(run, keys, several);
        const auto [at, fresh] = index.try_emplace(label, curves.series.size());
        if (fresh) curves.series.push_back({label, {}});
        curves.series[at->second].points.push_back({*x, summary.median, summary.low, summary.high, &run});
    }
    for (auto& series : curves.series)
        std::stable_sort(series.points.begin(), series.points.end(),
                         [](const PlottedPoint& left, const PlottedPoint& right) { return left.x < right.x; });
    return curves;
}

std::string axis_text(const Curves& curves, double x) {
    if (curves.axis == "size_bytes" && x >= 1) return format_size(static_cast<std::uint64_t>(x));
    return plain_number(x);
}

bool is_doubtful(const PlottedPoint& point) {
    const auto& time = point.run->time;
    return time.clean + time.disturbed > 0 && time.clean < 3;
}

std::string quantity_text(const Curves& curves, double value) {
    return curves.quantity == record::CurveQuantity::bandwidth ? format_rate(value) : format_ns(value);
}

std::string knee_sentence(const record::Knee& knee) {
    // Found knees lie between points: three digits say no more than is known.
    const std::uint64_t size = knee.size_bytes;
    std::uint64_t unit = 1;
    while (size / unit >= 1024 * 10) unit *= 1024;
    std::string text = fmt::format("{} at {}", name_of(knee.kind), format_size(size / unit * unit));
    if (knee.pages != record::PageKind::none) text += fmt::format(" with {} pages", name_of(knee.pages));
    if (knee.ratio > 0 && knee.kind != record::KneeKind::predicted) text += fmt::format(", x{:.2f}", knee.ratio);
    if (!knee.cause.empty()) text += ": " + knee.cause;
    return text;
}

}  // namespace tmaprobe::report
