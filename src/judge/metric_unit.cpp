#include "judge/metric_unit.h"

#include <charconv>
#include <string_view>

namespace tmaprobe::judge {
namespace {

using record::MetricUnit;

MetricUnit unit_of_share(const metrics::MetricDefinition& metric, std::string_view rest) {
    if (metric.basis == "cycles") return MetricUnit::clocks;
    if (const auto unit = value_named<MetricUnit>(metric.basis); unit && *unit != MetricUnit::none) return *unit;
    if (rest.find("cycles") != rest.npos) return MetricUnit::clocks;
    if (rest.find("slots") != rest.npos) return MetricUnit::slots;
    return MetricUnit::ratio;
}

bool per_thousand_instructions(std::string_view unit) {
    return unit == "MPKI" || unit == "per_1k_instr" || unit.find("1000 instr") != unit.npos;
}

}  // namespace

UnitConversion unit_conversion_of(const metrics::MetricDefinition& metric) {
    std::string_view unit = metric.scale_unit;
    double published = 1;
    const auto [end, problem] = std::from_chars(unit.data(), unit.data() + unit.size(), published);
    if (problem == std::errc{}) unit.remove_prefix(static_cast<std::size_t>(end - unit.data()));
    while (unit.starts_with(' ')) unit.remove_prefix(1);

    for (const std::string_view percent : {"%", "percent"})
        if (unit.starts_with(percent))
            return {published / 100, unit_of_share(metric, unit.substr(percent.size())), true};
    if (per_thousand_instructions(unit)) return {published, MetricUnit::per_kilo_instructions, false};
    // A formula without a unit may be anything; only its place in the tree says that it is a share.
    if (unit.empty() && metric.level > 0) return {published, unit_of_share(metric, unit), true};
    const bool ratio = unit.starts_with("per");
    return {published, ratio ? MetricUnit::ratio : MetricUnit::count, false};
}

}  // namespace tmaprobe::judge
