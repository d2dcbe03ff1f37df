#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tmaprobe::record {

/// What an event counts, however it is spelt. PMU names of the one core PMU are all "".
struct EventKey {
    std::string pmu;
    std::uint64_t config = 0, config1 = 0, config2 = 0;
    bool latency = false;   ///< "EVENT:R"
    std::string privilege;  ///< of "EVENT:u", "EVENT:k": whose instructions are meant; "" = all that were counted
    std::string name;       ///< of events without an encoding of their own (tool and uncore ones), else ""
    auto operator<=>(const EventKey&) const = default;
};

}  // namespace tmaprobe::record
