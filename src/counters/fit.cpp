#include "counters/fit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

namespace tmaprobe::counters {
namespace {

constexpr int first_fixed = 32;
constexpr int most_fixed = 16;

/// More than any PMU has: no limit is meant (a model has no counters to run out of).
constexpr int unlimited = 32;

using events::PmuFormat;

std::uint64_t event_code(const events::EventDefinition& event) { return event.config & 0xff; }
std::uint64_t umask(const events::EventDefinition& event) { return (event.config >> 8) & 0xff; }

CounterMask general_mask(const PmuLimits& limits) { return (CounterMask{1} << limits.general_counters) - 1; }

/// The fixed counter that can hold this encoding; -1: none. Encodings with event code 0 exist on the
/// fixed counter only.
int fixed_counter(const events::EventDefinition& event, PmuFormat format) {
    if (format == PmuFormat::intel) {
        switch (event.config) {
            case 0xc0:
                return 0;  // instructions
            case 0x3c:
                return 1;  // cycles
            case 0x300:
                return 2;  // reference cycles
            case 0x400:
                return 3;  // slots
            default:
                return -1;
        }
    }
    if (format == PmuFormat::arm && (event.config & 0xffff) == 0x11) return 0;  // the cycle counter
    return -1;
}

/// "0,1,2,3" as bits; all ones where the table names no general-purpose counters.
CounterMask published_counters(std::string_view text) {
    if (text.empty() || text.find("ixed") != text.npos) return ~CounterMask{0};
    CounterMask mask = 0;
    while (!text.empty()) {
        int number = 0;
        const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
        if (result.ec == std::errc{} && number >= 0 && number < first_fixed) mask |= CounterMask{1} << number;
        const auto comma = text.find(',');
        text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
        while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    }
    return mask ? mask : ~CounterMask{0};
}

/// From Ice Lake on the kernel lets retired memory and cache events count on counters 0 to 3 only.
bool is_retired_memory_event(const events::EventDefinition& event) {
    return event_code(event) >= 0xd0 && event_code(event) <= 0xe6;
}

/// Two physical counters are merged for AMD's FLOP event.
bool needs_pair(const events::EventDefinition& event, PmuFormat format) {
    return format == PmuFormat::amd && (event.config & 0xf000000ffu) == 0x3;
}

/// Which extra register an Intel event's config1 goes to, and how many of it there are; 0: none.
int extra_register(const events::EventDefinition& event, int& copies) {
    copies = 1;
    if (event.config1 == 0) return 0;
    switch (event_code(event)) {
        case 0xb7:
        case 0xbb:
        case 0x2a:
        case 0x2b:
            copies = 2;
            return 1;  // off-core response
        case 0xc6:
            return 2;  // front end
        case 0xcd:
            return 3;  // load latency
        default:
            return 0;
    }
}

bool extra_registers_fit(const std::vector<PlannedEvent>& events) {
    std::map<int, std::set<std::uint64_t>> values;
    for (const auto& event : events) {
        int copies = 1;
        const int which = extra_register(event.definition, copies);
        if (which == 0) continue;
        values[which].insert(event.definition.config1);
        if (static_cast<int>(values[which].size()) > copies) return false;
    }
    return true;
}

/// One step of a bipartite matching: finds a counter for `event`, moving earlier events if need be.
bool place(std::size_t event, const std::vector<CounterMask>& allowed, std::array<int, 64>& owner, CounterMask& tried) {
    for (int counter = 0; counter < 64; ++counter) {
        const CounterMask bit = CounterMask{1} << counter;
        if (!(allowed[event] & bit) || (tried & bit)) continue;
        tried |= bit;
        if (owner[counter] < 0 || place(static_cast<std::size_t>(owner[counter]), allowed, owner, tried)) {
            owner[counter] = static_cast<int>(event);
            return true;
        }
    }
    return false;
}

}  // namespace

bool same_encoding(const PlannedEvent& a, const PlannedEvent& b) {
    const auto& x = a.definition;
    const auto& y = b.definition;
    // Events of the model, of tools and of some uncore units have no encoding: their names are all there is.
    const bool encoded = x.config != 0 || x.config1 != 0 || x.config2 != 0;
    if (!encoded && x.name != y.name) return false;
    return x.pmu == y.pmu && x.config == y.config && x.config1 == y.config1 && x.config2 == y.config2 &&
           x.modifiers == y.modifiers;
}

bool is_topdown_metric(const events::EventDefinition& event, PmuFormat format) {
    return format == PmuFormat::intel && event_code(event) == 0 && umask(event) >= 0x80 && event.config <= 0xffff;
}

bool is_slots(const events::EventDefinition& event, PmuFormat format) {
    return format == PmuFormat::intel && event.config == 0x400;
}

CounterMask allowed_counters(const events::EventDefinition& event, const PmuLimits& limits, PmuFormat format) {
    CounterMask mask = general_mask(limits) & published_counters(event.counters);
    if (format == PmuFormat::intel && limits.has_slots && is_retired_memory_event(event)) mask &= 0xf;
    const int fixed = fixed_counter(event, format);
    if (fixed < 0) return mask;
    if (format == PmuFormat::intel && event_code(event) == 0) mask = 0;
    const bool taken =
        std::find(limits.fixed_taken.begin(), limits.fixed_taken.end(), fixed) != limits.fixed_taken.end();
    const bool there = fixed == 3 ? limits.has_slots : fixed < std::min(limits.fixed_counters, most_fixed);
    if (there && !taken) mask |= CounterMask{1} << (first_fixed + fixed);
    return mask;
}

bool fits(const std::vector<PlannedEvent>& events, const PmuLimits& limits, PmuFormat format) {
    if (limits.general_counters >= unlimited) return true;
    std::vector<CounterMask> allowed;
    for (const auto& event : events) {
        if (is_topdown_metric(event.definition, format)) continue;
        allowed.push_back(allowed_counters(event.definition, limits, format));
        if (needs_pair(event.definition, format)) allowed.push_back(general_mask(limits));
    }
    std::array<int, 64> owner;
    owner.fill(-1);
    for (std::size_t event = 0; event < allowed.size(); ++event) {
        CounterMask tried = 0;
        if (!place(event, allowed, owner, tried)) return false;
    }
    return format != PmuFormat::intel || extra_registers_fit(events);
}

}  // namespace tmaprobe::counters
