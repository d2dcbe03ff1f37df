#include "experiments/scale.h"

#include <charconv>
#include <string_view>

namespace tmaprobe::experiments {
namespace {

std::string unit_of_share(const metrics::MetricDefinition& metric, std::string_view rest) {
    if (metric.basis == "cycles") return "clocks";
    if (!metric.basis.empty()) return metric.basis;
    if (rest.find("cycles") != rest.npos) return "clocks";
    if (rest.find("slots") != rest.npos) return "slots";
    return "ratio";
}

bool per_thousand_instructions(std::string_view unit) {
    return unit == "MPKI" || unit == "per_1k_instr" || unit.find("1000 instr") != unit.npos;
}

}  // namespace

Scale scale_of(const metrics::MetricDefinition& metric) {
    std::string_view unit = metric.scale_unit;
    double published = 1;
    const auto [end, problem] = std::from_chars(unit.data(), unit.data() + unit.size(), published);
    if (problem == std::errc{}) unit.remove_prefix(static_cast<std::size_t>(end - unit.data()));
    while (unit.starts_with(' ')) unit.remove_prefix(1);

    for (const std::string_view percent : {"%", "percent"})
        if (unit.starts_with(percent))
            return {published / 100, unit_of_share(metric, unit.substr(percent.size())), true};
    if (per_thousand_instructions(unit)) return {published, "per_kilo_instructions", false};
    // A formula without a unit may be anything; only its place in the tree says that it is a share.
    if (unit.empty() && metric.level > 0) return {published, unit_of_share(metric, unit), true};
    const bool ratio = unit.starts_with("per");
    return {published, ratio ? "ratio" : "count", false};
}

}  // namespace tmaprobe::experiments
