#include "judge/count_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "events/encoding.h"

namespace tmaprobe::judge {
namespace {

/// A group's run.
struct PassOf {
    using result_type = int;
    std::optional<int> operator()(const GroupId& group) const { return group.first; }
};

/// The group itself, if it is of this run.
struct GroupOf {
    using result_type = GroupId;
    int pass;
    std::optional<GroupId> operator()(const GroupId& group) const {
        return group.first == pass ? std::optional(group) : std::nullopt;
    }
};

/// What most of the events still wanted have in common among the groups that hold them; ties: the first.
template <class Of>
std::optional<typename Of::result_type> most_frequent(const std::vector<std::vector<GroupId>>& wanted, const Of& of) {
    std::map<typename Of::result_type, std::size_t> held;
    for (const auto& groups : wanted) {
        std::set<typename Of::result_type> distinct;
        for (const GroupId& group : groups)
            if (const auto value = of(group)) distinct.insert(*value);
        for (const auto& value : distinct) ++held[value];
    }
    const auto most = std::ranges::max_element(held, {}, [](const auto& entry) { return entry.second; });
    return most == held.end() ? std::nullopt : std::optional(most->first);
}

/// What a note means, where it means that there is no count.
std::string_view meaningless(record::Note note) {
    if (note == record::Note::not_supported) return "is not supported by the machine";
    if (note == record::Note::not_implemented) return "counts 0, and the PMU does not list it: it is not implemented";
    if (note == record::Note::impossible_zero) return "counted 0, which it cannot: the counter does not work";
    return {};
}

}  // namespace

events::EventKey recorded_key(const events::Table& table, const record::Event& event) {
    events::EventDefinition definition;
    if (auto named = events::resolve(table, event.name))
        definition = std::move(*named);
    else
        definition.name = event.name;
    const auto config = events::parse_number(event.config);
    if (config && *config != definition.config) {
        definition.config = *config;
        definition.config1 = definition.config2 = 0;
    }
    // A hybrid's name alone means the larger cores; the record knows better.
    if (event.pmu == "cpu_core" || event.pmu == "cpu_atom") definition.pmu = event.pmu;
    return events::key_of(table, definition);
}

events::EventKey key_of(const events::Table& table, const record::Event& event) {
    return event.key ? *event.key : recorded_key(table, event);
}

std::string_view CountIndex::refused(const events::EventKey& key) const {
    const auto found = refused_.find(key);
    return found == refused_.end() ? std::string_view{} : found->second;
}

void flag_impossible_zeros(const events::Table& table, std::vector<record::Event>& events) {
    std::set<events::EventKey> always_count;
    for (const char* name : {"cycles", "instructions", "slots"})
        if (const auto definition = events::resolve(table, name))
            always_count.insert(events::key_of(table, *definition));
    for (auto& event : events) {
        const auto& reading = event.reading;
        if (event.note != record::Note::none || reading.raw != 0 || reading.value != 0 || reading.time_running_ns == 0)
            continue;
        events::EventKey key = key_of(table, event);
        key.privilege.clear();
        if (always_count.contains(key)) event.note = record::Note::impossible_zero;
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
    std::vector<GroupId> groups, idle;
    const auto [begin, end] = counts_of(key);
    for (auto at = begin; at != end; ++at)
        (count_of(*at->second).counted ? groups : idle).emplace_back(at->second->pass, at->second->group);
    return groups.empty() ? idle : groups;
}

std::vector<GroupId> CountIndex::groups_for(const std::vector<events::EventKey>& keys) const {
    std::vector<std::vector<GroupId>> wanted;
    for (const auto& key : keys)
        if (auto groups = groups_with(key); !groups.empty()) wanted.push_back(std::move(groups));
    std::vector<GroupId> chosen;
    while (const auto pass = most_frequent(wanted, PassOf{})) {
        while (const auto group = most_frequent(wanted, GroupOf{*pass})) {
            chosen.push_back(*group);
            std::erase_if(wanted,
                          [&](const auto& groups) { return std::ranges::find(groups, *group) != groups.end(); });
        }
    }
    return chosen;
}

const record::Event* CountIndex::find(const events::EventKey& key, const std::vector<GroupId>& preferred) const {
    const auto [begin, end] = counts_of(key);
    for (const GroupId& group : preferred)
        for (auto at = begin; at != end; ++at)
            if (GroupId(at->second->pass, at->second->group) == group) return at->second;
    return begin == end ? nullptr : begin->second;
}

metrics::Count CountIndex::count_of(const record::Event& event) const {
    const record::Reading& reading = event.reading;
    metrics::Count count;
    count.value = reading.value;
    count.low = event.low.value_or(reading.value);
    count.high = event.high.value_or(reading.value);
    const bool never_ran = reading.time_running_ns == 0 && (!times_are_optional_ || reading.time_enabled_ns > 0);
    count.counted = !never_ran && event.note != record::Note::not_counted;
    return count;
}

}  // namespace tmaprobe::judge
