#include "report/states.h"

#include <cmath>

#include "base/sizes.h"
#include "report/numbers.h"

namespace tmaprobe::report {
std::vector<Monitored> monitors_of(const record::Run& run) {
    std::vector<Monitored> found;
    for (auto monitored : {Monitored{"llc_occupancy", "occupancy", "bytes"},
                           Monitored{"mbm_total_bytes", "memory bytes/s", "bytes_per_second"},
                           Monitored{"mbm_local_bytes", "local bytes/s", "bytes_per_second"}})
        for (const auto& event : run.events) {
            if (event.pmu != "resctrl" || event.name != monitored.name) continue;
            const double window = static_cast<double>(event.reading.time_running_ns);
            monitored.value = !(window > 0)               ? std::nan("")
                              : monitored.unit == "bytes" ? event.reading.value
                                                          : 1e9 * event.reading.value / window;
            found.push_back(monitored);
            break;
        }
    return found;
}

std::string monitor_text(const Monitored& monitored) {
    if (!std::isfinite(monitored.value) || monitored.value < 0) return "not counted";
    return monitored.unit == "bytes" && monitored.value < 0x1p63
               ? format_size(static_cast<std::uint64_t>(monitored.value))
               : plain_number(monitored.value);
}

std::string state_of(const record::Run& run) { return run.extra.state ? run.extra.state->name : ""; }

std::optional<Change> against_alone(const record::Run& run) {
    const auto& state = run.extra.state;
    if (!state || !state->against_alone) return {};
    return Change{*state->against_alone, state->against_alone_low.value_or(std::nan("")),
                  state->against_alone_high.value_or(std::nan(""))};
}

}  // namespace tmaprobe::report
