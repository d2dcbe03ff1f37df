#include "counters/perf_command.h"

#include <fmt/format.h>

#include <set>

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
        if (known.config == event.config && (known.name == "slots" || known.name.starts_with("topdown-"))) return known.name;
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

}  // namespace

std::vector<std::string> perf_stat_command(const events::Table& table, const Pass& pass, const std::string& output_file) {
    std::string events;
    std::set<std::string> written;
    for (const Group& group : pass.groups) {
        std::string members;
        for (const PlannedEvent& event : group.events) members += (members.empty() ? "" : ",") + spell(table, event);
        if (members.empty() || !written.insert(members).second) continue;
        if (!events.empty()) events += ',';
        events += group.events.size() > 1 ? "{" + members + "}" : members;
    }
    return {"perf", "stat", "-x,", "-o", output_file, "-e", events};
}

std::string shell_line(const std::vector<std::string>& words) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    std::string line;
    for (const std::string& word : words) {
        if (!line.empty()) line += ' ';
        if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

}  // namespace tmaprobe::counters
