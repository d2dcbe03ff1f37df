#include "report/states.h"

#include <cmath>

#include "base/sizes.h"
#include "report/numbers.h"

namespace tmaprobe::report {
namespace {

using nlohmann::json;

std::optional<double> number_in(const json& object, const char* key) {
    const auto value = object.find(key);
    return value != object.end() && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
}

std::string text_in(const json& object, const char* key) {
    const auto value = object.find(key);
    return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

}  // namespace

std::vector<Monitored> monitors_of(const record::Run& run) {
    std::vector<Monitored> found;
    for (auto monitored : {Monitored{"llc_occupancy", "occupancy", "bytes"},
                           Monitored{"mbm_total_bytes", "memory bytes/s", "bytes_per_second"},
                           Monitored{"mbm_local_bytes", "local bytes/s", "bytes_per_second"}})
        for (const auto& event : run.events) {
            if (event.pmu != "resctrl" || event.name != monitored.name) continue;
            const double window = static_cast<double>(event.reading.time_running_ns);
            monitored.value = !(window > 0) ? std::nan("") : monitored.unit == "bytes" ? event.reading.value : 1e9 * event.reading.value / window;
            found.push_back(monitored);
            break;
        }
    return found;
}

std::string monitor_text(const Monitored& monitored) {
    if (!std::isfinite(monitored.value) || monitored.value < 0) return "not counted";
    return monitored.unit == "bytes" && monitored.value < 0x1p63 ? format_size(static_cast<std::uint64_t>(monitored.value))
                                                                 : plain_number(monitored.value);
}

std::string state_of(const record::Run& run) { return text_in(run.extra, "state"); }

std::optional<Change> against_alone(const record::Run& run) {
    const auto value = number_in(run.extra, "against_alone");
    if (!value) return {};
    return Change{*value, number_in(run.extra, "against_alone_low").value_or(std::nan("")),
                  number_in(run.extra, "against_alone_high").value_or(std::nan(""))};
}

std::optional<Allocation> allocation_of(const record::Run& run) {
    const auto given = run.extra.find("allocation");
    if (given == run.extra.end() || !given->is_object()) return {};
    const auto value = number_in(*given, "value");
    const std::string control = text_in(*given, "control");
    if (!value || control.empty()) return {};
    return Allocation{control, *value, text_in(*given, "unit")};
}

}  // namespace tmaprobe::report
