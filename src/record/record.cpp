#include "record/record.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tmaprobe::record {

bool has_value(const Metric& metric) { return has_value(metric.status) && std::isfinite(metric.value); }

PageKind modelled_pages_apart(const Run& run) {
    if (!run.pages || run.pages->effective == PageKind::none) return PageKind::none;
    if (run.extra.model && run.extra.model->splits_large_pages) return PageKind::none;
    PageKind taken = run.pages->requested;
    if (run.extra.model && run.extra.model->assumed_pages != PageKind::none) taken = run.extra.model->assumed_pages;
    return taken == run.pages->effective ? PageKind::none : taken;
}

bool follows(const RunParameters& parameters, std::string_view name) {
    // Older records do not say which follow.
    constexpr std::string_view known[] = {"cpu", "iterations", "lines", "array_bytes", "time", "further_pids", "tids"};
    return std::ranges::find(parameters.derived, name) != parameters.derived.end() ||
           std::ranges::find(known, name) != std::end(known);
}

std::map<std::string, std::string> single_values(const RunParameters& parameters) {
    auto values = parameters.options;
    if (parameters.size_bytes) values["size_bytes"] = std::to_string(*parameters.size_bytes);
    if (parameters.threads) values["threads"] = std::to_string(*parameters.threads);
    if (parameters.pid) values["pid"] = std::to_string(*parameters.pid);
    if (!parameters.pmu.empty()) values["pmu"] = parameters.pmu;
    return values;
}

std::map<std::string, std::string> asked_values(const RunParameters& parameters) {
    auto values = single_values(parameters);
    std::erase_if(values, [&](const auto& value) { return follows(parameters, value.first); });
    return values;
}

bool has_own_tree(const Record& record) {
    return record.extra.table && record.extra.table->tree == TreeOwner::tmaprobe;
}

}  // namespace tmaprobe::record
