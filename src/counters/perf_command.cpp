#include "counters/perf_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/fit.h"
#include "events/key.h"

namespace tmaprobe::counters {
namespace {

/// The kernel's own name inside "cpu_core/topdown-retiring/".
std::string bare_name(std::string name) {
    if (name.ends_with('/')) name.pop_back();
    return name.substr(name.rfind('/') + 1);
}

/// The kernel's name of slots or a topdown event, by which perf knows to keep them together; else empty.
std::string topdown_name(const events::Table& table, const events::EventDefinition& event) {
    if (table.format != events::PmuFormat::intel || event.config1 || event.pmu == "cpu_atom") return {};
    for (const auto& known : table.kernel_events)
        if (known.config == event.config && (known.name == "slots" || known.name.starts_with("topdown-")))
            return known.name;
    return {};
}

std::string spell(const events::Table& table, const PlannedEvent& event) {
    const auto& definition = event.definition;
    const std::string pmu = events::canonical_pmu(table, definition.pmu);
    const bool hybrid_part = pmu == "cpu_core" || pmu == "cpu_atom";
    const std::string privilege = events::privilege_of(definition);
    const std::string suffix = privilege.empty() ? std::string() : fmt::format(":{}", privilege);
    if (!pmu.empty() && !hybrid_part) {
        if (pmu == "msr") return fmt::format("msr/config={:#x}/", definition.config);
        return bare_name(definition.name);  // with its own modifiers
    }
    if (const std::string name = topdown_name(table, definition); !name.empty())
        return hybrid_part ? fmt::format("{}/{}/", pmu, name) + privilege : name + suffix;
    // The core PMU of an Arm machine has a name of its own; raw events find it.
    if (table.format == events::PmuFormat::arm) return fmt::format("r{:x}", definition.config) + suffix;
    std::string terms = fmt::format("config={:#x}", definition.config);
    if (definition.config1) terms += fmt::format(",config1={:#x}", definition.config1);
    if (definition.config2) terms += fmt::format(",config2={:#x}", definition.config2);
    return fmt::format("{}/{}/{}", hybrid_part ? pmu : "cpu", terms, privilege);
}

/// A group's events as perf spells them.
struct Spelt {
    std::vector<std::string> events;
    bool led_by_slots = false;  ///< then their order matters
    bool operator==(const Spelt&) const = default;
};

/// No event stands twice in a row, the last of a group and the first of the next: in an output of perf stat that
/// would look like a line that was pasted twice. A group that slots lead keeps its order.
void keep_repeats_apart(std::vector<Spelt>& groups) {
    const auto meet_alike = [&](std::size_t i) { return groups[i - 1].events.back() == groups[i].events.front(); };
    const auto turn = [](Spelt& group) {
        if (!group.led_by_slots) std::rotate(group.events.begin(), group.events.begin() + 1, group.events.end());
    };
    for (std::size_t i = 1; i < groups.size(); ++i) {
        if (meet_alike(i)) turn(groups[i]);
        if (meet_alike(i)) turn(groups[i - 1]);
    }
}

std::vector<Spelt> spell_groups(const events::Table& table, const Pass& pass) {
    std::vector<Spelt> groups;
    for (const EventGroup& group : pass.groups) {
        Spelt spelt;
        for (const PlannedEvent& event : group.events) spelt.events.push_back(spell(table, event));
        spelt.led_by_slots = !group.events.empty() && is_slots(group.events.front().definition, table.format);
        if (!spelt.events.empty() && std::ranges::find(groups, spelt) == groups.end())
            groups.push_back(std::move(spelt));
    }
    keep_repeats_apart(groups);
    return groups;
}

}  // namespace

std::vector<std::string> perf_stat_command(const events::Table& table, const Pass& pass,
                                           const std::string& output_file) {
    std::vector<std::string> groups;
    for (const Spelt& spelt : spell_groups(table, pass))
        groups.push_back(spelt.events.size() > 1 ? fmt::format("{{{}}}", fmt::join(spelt.events, ","))
                                                 : spelt.events.front());
    return {"perf", "stat", "-x,", "-o", output_file, "-e", fmt::format("{}", fmt::join(groups, ","))};
}

}  // namespace tmaprobe::counters
