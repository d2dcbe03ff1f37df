#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// What a count of the machine's is made into.
enum class SystemValue {
    rate,       ///< in the event's unit, times a factor, per second
    residency,  ///< ticks of the time-stamp counter as a share of the time
};

/// One event behind a metric. Several of one metric: of different machines, and added up where a machine has both.
struct SystemPart {
    std::string metric;  ///< with its unit: "package_watts"
    std::string event;   ///< as sysfs names it: "power/energy-pkg/"
    SystemValue makes = SystemValue::rate;
    double factor = 1;  ///< the metric's unit in the event's
};

/// A metric of the machine, not of a core, as it is asked for: "power". From events/system-metrics.json.
struct SystemMetric {
    std::string name, what;
    std::vector<SystemPart> parts;
};

/// Errors: bad_input for a broken file.
Result<std::vector<SystemMetric>> read_system_metrics(const Library& library);

}  // namespace tmaprobe::events

namespace tmaprobe {

template <>
struct Names<events::SystemValue> {
    using enum events::SystemValue;
    static constexpr std::array<std::pair<events::SystemValue, std::string_view>, 2> values{
        {{rate, "rate"}, {residency, "residency"}}};
};

}  // namespace tmaprobe
