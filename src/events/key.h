#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "events/table.h"

namespace tmaprobe::events {

/// What an event counts, however it is spelt. PMU names of the one core PMU are all "".
struct EventKey {
    std::string pmu;
    std::uint64_t config = 0, config1 = 0, config2 = 0;
    bool latency = false;  ///< "EVENT:R"
    std::string privilege;  ///< of "EVENT:u", "EVENT:k": whose instructions are meant; "" = all that were counted
    std::string name;      ///< of events without an encoding of their own (tool and uncore ones), else ""
    auto operator<=>(const EventKey&) const = default;
};

EventKey key_of(const Table& table, const EventDefinition& event);

/// The privilege levels among the event's modifiers, "u", "k", "h", and "G" where guests alone are meant, in this
/// order; "" when none is named.
std::string privilege_of(const EventDefinition& event);

/// "cpu" and "armv8_pmuv3_0" are what a table writes as ""; other names stay.
std::string canonical_pmu(const Table& table, const std::string& pmu);

}  // namespace tmaprobe::events
