#include "experiments/further_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "events/library.h"
#include "machine/event_sources.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::experiments {
namespace {

using counters::PlannedEvent;

/// An event by its bare name, on each PMU of a hybrid that has it; as it stands where it names its PMU, or there is
/// one.
std::vector<std::string> on_every_pmu(const events::Table& table, const std::string& spelling) {
    if (spelling.find_first_of("/@") != spelling.npos) return {spelling};
    std::vector<std::string> spellings;
    for (const char* pmu : {"cpu_core", "cpu_atom"}) {
        if (std::ranges::find(table.events, pmu, &events::EventDefinition::pmu) == table.events.end())
            return {spelling};
        const std::size_t colon = spelling.find(':');
        const std::string modifiers = colon == spelling.npos ? "" : spelling.substr(colon + 1);
        const std::string there = fmt::format("{}/{}/{}", pmu, spelling.substr(0, colon), modifiers);
        if (const auto event = events::resolve(table, there); event && event->pmu == pmu) spellings.push_back(there);
    }
    return spellings.empty() ? std::vector{spelling} : spellings;
}

/// Pieces between commas that are in no slashes and no braces.
std::vector<std::string> split_events(const std::string& text) {
    std::vector<std::string> pieces(1);
    bool in_terms = false;
    int depth = 0;
    for (const char letter : text) {
        if (letter == '/' || letter == '@') in_terms = !in_terms;
        if (!in_terms && letter == '{') ++depth;
        if (!in_terms && letter == '}') --depth;
        if (letter == ',' && !in_terms && depth == 0)
            pieces.emplace_back();
        else
            pieces.back() += letter;
    }
    return pieces;
}

/// What one text stands for: events, which count together where it was in braces.
struct Piece {
    std::vector<std::string> spellings;
    bool together = false;
};

Result<Piece> read_piece(const std::string& text) {
    if (!text.starts_with('{')) return Piece{{text}, false};
    const std::size_t close = text.rfind('}');
    if (close == text.npos || close == 1)
        return fail(ErrorCode::bad_usage, "the group '" + text + "' is not complete", "write {EVENT,EVENT}");
    std::string modifiers = text.substr(close + 1);
    if (modifiers.starts_with(':')) modifiers.erase(0, 1);
    // Of samples, how a group's leader is read, and of a group, that it may be taken apart: both are so here anyway.
    std::erase_if(modifiers, [](char letter) { return letter == 'S' || letter == 'W'; });
    Piece piece{split_events(text.substr(1, close - 1)), true};
    for (std::string& spelling : piece.spellings) {
        if (modifiers.empty()) continue;
        const bool has_some = spelling.find(':') != spelling.npos || spelling.ends_with('/');
        spelling += (has_some ? "" : ":") + modifiers;
    }
    return piece;
}

/// perf's modifiers that change nothing that is counted, and would be passed over in silence.
Result<> check_modifiers(const std::string& spelling, const std::string& modifiers) {
    if (modifiers.find_first_of("pP") != modifiers.npos)
        return fail(ErrorCode::bad_usage,
                    fmt::format("event '{}': 'p' asks for exact places of samples, and counting takes none", spelling),
                    "leave it out: the count is the same");
    if (modifiers.find('b') != modifiers.npos)
        return fail(ErrorCode::bad_usage, fmt::format("event '{}': 'b' is for BPF programs", spelling), "leave it out");
    return {};
}

/// "sched:sched_switch"; nothing for a spelling that is no such name, or another kind of event's.
std::optional<std::pair<std::string, std::string>> as_tracepoint(const std::string& spelling) {
    const std::size_t colon = spelling.find(':');
    const auto is_name = [](const std::string& text) {
        return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    };
    if (colon == spelling.npos) return std::nullopt;
    std::pair parts(spelling.substr(0, colon), spelling.substr(colon + 1));
    if (!is_name(parts.first) || !is_name(parts.second)) return std::nullopt;
    // The kernel's systems have small letters; "L2_RQSTS:MISS" is an event of a CPU.
    if (std::ranges::any_of(parts.first, [](unsigned char c) { return std::isupper(c); })) return std::nullopt;
    return parts;
}

/// The pieces of "pmu/term,term/modifiers".
struct PmuSpelling {
    std::string pmu;
    std::vector<std::string> terms;
    std::string modifiers;
};

std::optional<PmuSpelling> as_pmu_event(const std::string& spelling) {
    const std::size_t open = spelling.find('/'), close = spelling.rfind('/');
    if (open == spelling.npos || open == close) return std::nullopt;
    PmuSpelling parts{spelling.substr(0, open), {}, spelling.substr(close + 1)};
    if (parts.modifiers.starts_with(':')) parts.modifiers.erase(0, 1);
    parts.terms.emplace_back();
    for (const char letter : spelling.substr(open + 1, close - open - 1)) {
        if (letter == ',')
            parts.terms.emplace_back();
        else
            parts.terms.back() += letter;
    }
    return parts;
}

/// Events of a PMU that the table knows nothing of; none: it is a core's, or there is no such PMU.
Result<std::vector<PlannedEvent>> of_other_pmus(const std::string& spelling, FurtherEvents& further) {
    std::vector<PlannedEvent> events;
    const auto parts = as_pmu_event(spelling);
    if (!parts) return events;
    for (const std::string& pmu : machine::pmus_named(parts->pmu)) {
        if (machine::system_wide_cpus(pmu).empty()) continue;
        const auto sourced = TRY(machine::sourced_event(pmu, parts->terms));
        if (!parts->modifiers.empty())
            return fail(ErrorCode::bad_usage,
                        fmt::format("event '{}': {} counts what belongs to the machine, in no mode of a program's",
                                    spelling, pmu),
                        "leave the modifiers out");
        PlannedEvent event{pmu + spelling.substr(spelling.find('/')), {}, false};
        event.definition.name = event.name;
        event.definition.pmu = pmu;
        event.definition.config = sourced.config;
        event.definition.config1 = sourced.config1;
        event.definition.config2 = sourced.config2;
        if (!sourced.unit.empty()) further.units[event.name] = {sourced.scale, sourced.unit};
        events.push_back(std::move(event));
    }
    return events;
}

PlannedEvent kernel_event(const std::string& name, const char* pmu, std::uint64_t config, std::string modifiers) {
    PlannedEvent event{name, {}, false};
    event.definition.name = name;
    event.definition.pmu = pmu;
    event.definition.config = config;
    event.definition.modifiers = std::move(modifiers);
    return event;
}

/// An event that the kernel translates for the CPU, by perf's name.
std::optional<PlannedEvent> generic_event(const std::string& spelling) {
    const std::size_t colon = spelling.find(':');
    const std::string name = spelling.substr(0, colon);
    const std::string modifiers = colon == spelling.npos ? "" : spelling.substr(colon + 1);
    // In the order of the kernel's PERF_COUNT_HW_*, under perf's names.
    static constexpr std::array<std::string_view, 10> hardware = {
        "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
        "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
    if (const auto known = std::ranges::find(hardware, name); known != hardware.end())
        return kernel_event(spelling, "hardware", static_cast<std::uint64_t>(known - hardware.begin()), modifiers);
    if (const auto config = machine::cache_event(name)) return kernel_event(spelling, "hw_cache", *config, modifiers);
    return std::nullopt;
}

/// Where there are several kinds of cores, the kernel takes the number of a kind's PMU beside that of the event.
std::vector<PlannedEvent> on_every_kind_of_core(PlannedEvent event) {
    constexpr int pmu_type_shift = 32;
    const auto pmus = machine::core_pmus();
    if (pmus.size() < 2) return {std::move(event)};
    std::vector<PlannedEvent> events;
    for (const auto& pmu : pmus) {
        PlannedEvent on_one = event;
        on_one.name = on_one.definition.name = fmt::format("{}/{}/", pmu.name, event.name);
        on_one.definition.config |= static_cast<std::uint64_t>(pmu.type) << pmu_type_shift;
        events.push_back(std::move(on_one));
    }
    return events;
}

Result<std::vector<PlannedEvent>> planned(const events::Table& table, const std::string& spelling,
                                          FurtherEvents& further) {
    const std::size_t at = std::max(spelling.rfind(':') + 1, spelling.rfind('/') + 1);
    if (auto of_others = TRY(of_other_pmus(spelling, further)); !of_others.empty()) return of_others;
    auto definition = events::resolve(table, spelling);
    if (!definition) {
        if (auto generic = generic_event(spelling)) {
            TRY(check_modifiers(spelling, generic->definition.modifiers));
            const bool hybrid =
                std::ranges::find(table.events, "cpu_core", &events::EventDefinition::pmu) != table.events.end();
            if (hybrid && machine::core_pmus().size() < 2)
                return fail(
                    ErrorCode::bad_usage,
                    fmt::format("{}: which event that is on each kind of cores, only such a machine's kernel knows",
                                spelling),
                    "name an event of each: tmaprobe list events");
            return on_every_kind_of_core(std::move(*generic));
        }
        const auto name = as_tracepoint(spelling);
        const bool modifiers = name && name->second.find_first_not_of("ukhGHDSWIeR") == std::string::npos;
        if (!name || modifiers || events::find_event(table, name->first)) return pass_on(definition);
        const auto id = TRY(machine::tracepoint_id(name->first, name->second));
        return std::vector{kernel_event(spelling, "tracepoint", id, "")};
    }
    TRY(check_modifiers(spelling, at == 0 || at >= spelling.size() ? "" : definition->modifiers));
    if (const std::string other = events::other_cpu_of(table, spelling); !other.empty())
        further.notes.push_back({"event_of_another_cpu",
                                 fmt::format("{} is an event of {}; on {} its number {:#x} may count something else",
                                             spelling, other, table.folder, definition->config),
                                 "tmaprobe list events shows this CPU's own"});
    return std::vector{PlannedEvent{spelling, std::move(*definition), false}};
}

}  // namespace

Result<FurtherEvents> further_events(const events::Table& table, const std::vector<std::string>& spellings) {
    FurtherEvents further;
    for (const std::string& text : spellings)
        for (const std::string& each : split_events(text)) {
            const auto piece = TRY(read_piece(each));
            std::vector<std::string> names;
            for (const std::string& written : piece.spellings)
                for (const std::string& spelling : on_every_pmu(table, written)) {
                    auto events = TRY(planned(table, spelling, further));
                    for (PlannedEvent& event : events) {
                        names.push_back(event.name);
                        further.events.push_back(std::move(event));
                    }
                }
            if (piece.together && names.size() > 1) further.together.push_back(std::move(names));
        }
    return further;
}

void keep_together(const std::vector<std::vector<std::string>>& groups, counters::Plan& plan) {
    for (const auto& names : groups) {
        counters::EventGroup* home = nullptr;
        for (auto& pass : plan.passes) {
            for (auto& group : pass.groups) {
                // What a user names counts in a group of its own: another of that name is a metric's.
                if (group.events.size() != 1 && &group != home) continue;
                if (&group == home || std::ranges::find(names, group.events.front().name) == names.end()) continue;
                if (!home) {
                    home = &group;
                } else if (home->pmu == group.pmu || home->pmu == "software" || group.pmu == "software") {
                    // A software event may be in the group of any PMU, and follows its leader there.
                    if (home->pmu == "software" && group.pmu != "software") {
                        home->events.insert(home->events.begin(), std::move(group.events.front()));
                        home->pmu = group.pmu;
                    } else {
                        home->events.push_back(std::move(group.events.front()));
                    }
                    group.events.clear();
                }
            }
        }
        for (auto& pass : plan.passes)
            std::erase_if(pass.groups, [](const counters::EventGroup& group) { return group.events.empty(); });
    }
}

std::vector<record::Metric> in_units(const std::map<std::string, EventUnit>& units,
                                     const std::vector<record::Event>& events) {
    std::vector<record::Metric> metrics;
    for (const record::Event& event : events) {
        const auto unit = units.find(event.name);
        if (unit == units.end()) continue;
        record::Metric metric;
        metric.name = fmt::format("{} in {}", event.name, unit->second.unit);
        metric.category = record::Category::other;
        metric.unit = record::MetricUnit::count;
        metric.formula = fmt::format("{} * {}", event.name, unit->second.scale);
        const bool counted = event.reading.time_running_ns > 0;
        metric.status = counted ? record::Status::measured : record::Status::not_counted;
        if (!counted) metric.reason = text_of(event.note);
        metric.value = event.reading.value * unit->second.scale;
        metric.low = event.low.value_or(event.reading.value) * unit->second.scale;
        metric.high = event.high.value_or(event.reading.value) * unit->second.scale;
        metrics.push_back(std::move(metric));
    }
    return metrics;
}

}  // namespace tmaprobe::experiments
