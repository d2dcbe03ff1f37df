#include "experiments/count_index.h"

#include <set>

#include "events/encoding.h"

namespace tmaprobe::experiments {
namespace {

/// What a recorded event counts: as its name says, unless its encoding says otherwise.
events::EventKey key_of(const events::Table& table, const record::Event& event) {
    events::EventDefinition definition;
    if (auto named = events::resolve(table, event.name)) definition = std::move(*named);
    else definition.name = event.name;
    const auto config = events::parse_number(event.config);
    if (config && *config != definition.config) {
        definition.config = *config;
        definition.config1 = definition.config2 = 0;
    }
    // A hybrid's name alone means the larger cores; the record knows better.
    if (event.pmu == "cpu_core" || event.pmu == "cpu_atom") definition.pmu = event.pmu;
    return events::key_of(table, definition);
}

/// What a note means, where it means that there is no count.
std::string_view meaningless(std::string_view note) {
    if (note == "not_supported") return "is not supported by the machine";
    if (note == "not_implemented") return "counts 0, and the PMU does not list it: it is not implemented";
    if (note == "impossible_zero") return "counted 0, which it cannot: the counter does not work";
    return {};
}

}  // namespace

std::string_view CountIndex::refused(const events::EventKey& key) const {
    const auto found = refused_.find(key);
    return found == refused_.end() ? std::string_view{} : found->second;
}

void flag_impossible_zeros(const events::Table& table, std::vector<record::Event>& events) {
    std::set<events::EventKey> always_count;
    for (const char* name : {"cycles", "instructions", "slots"})
        if (const auto definition = events::resolve(table, name)) always_count.insert(events::key_of(table, *definition));
    for (auto& event : events) {
        const auto& reading = event.reading;
        if (!event.note.empty() || reading.raw != 0 || reading.value != 0 || reading.time_running_ns == 0) continue;
        events::EventKey key = key_of(table, event);
        key.privilege.clear();
        if (always_count.contains(key)) event.note = "impossible_zero";
    }
}

CountIndex::CountIndex(const events::Table& table, const std::vector<record::Event>& events, bool times_are_optional)
    : times_are_optional_(times_are_optional) {
    for (const record::Event& event : events) {
        const events::EventKey key = key_of(table, event);
        if (const auto why = meaningless(event.note); !why.empty()) {
            refused_.emplace(key, why);
            continue;
        }
        ambiguous_ = ambiguous_ || events_.contains(key);
        if (key.privilege.empty()) counted_in_all_modes_.insert(key.pmu);
        events_.emplace(key, &event);
    }
}

CountIndex::Range CountIndex::counts_of(const events::EventKey& key) const {
    const Range exact = events_.equal_range(key);
    if (exact.first != exact.second || !key.privilege.empty()) return exact;
    // Where user mode alone may be counted perf says "cycles:u" for "cycles", and so for all events. A share of one
    // mode's count in another's would be no share of anything.
    if (counted_in_all_modes_.contains(key.pmu)) return exact;
    events::EventKey in_user_mode = key;
    in_user_mode.privilege = "u";
    return events_.equal_range(in_user_mode);
}

std::vector<GroupId> CountIndex::groups_with(const events::EventKey& key) const {
    std::vector<GroupId> groups;
    const auto [begin, end] = counts_of(key);
    for (auto at = begin; at != end; ++at) groups.emplace_back(at->second->pass, at->second->group);
    return groups;
}

const record::Event* CountIndex::find(const events::EventKey& key, const GroupId& preferred) const {
    const auto [begin, end] = counts_of(key);
    for (auto at = begin; at != end; ++at)
        if (GroupId(at->second->pass, at->second->group) == preferred) return at->second;
    return begin == end ? nullptr : begin->second;
}

metrics::Count CountIndex::count_of(const record::Event& event) const {
    const record::Reading& reading = event.reading;
    metrics::Count count;
    count.value = reading.value;
    count.low = event.low.value_or(reading.value);
    count.high = event.high.value_or(reading.value);
    const bool never_ran = reading.time_running_ns == 0 && (!times_are_optional_ || reading.time_enabled_ns > 0);
    count.counted = !never_ran && event.note != "not_counted";
    return count;
}

}  // namespace tmaprobe::experiments
