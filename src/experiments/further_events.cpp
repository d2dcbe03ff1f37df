#include "experiments/further_events.h"

#include <fmt/format.h>

#include <algorithm>

namespace tmaprobe::experiments {
namespace {

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

}  // namespace

Result<FurtherEvents> further_events(const events::Table& table, const std::vector<std::string>& spellings) {
    FurtherEvents further;
    std::vector<std::string> all;
    for (const std::string& spelling : spellings) {
        const auto each = on_every_pmu(table, spelling);
        all.insert(all.end(), each.begin(), each.end());
    }
    for (const std::string& spelling : all) {
        auto definition = TRY(events::resolve(table, spelling));
        if (const std::string other = events::other_cpu_of(table, spelling); !other.empty())
            further.notes.push_back(
                {"event_of_another_cpu",
                 fmt::format("{} is an event of {}; on {} its number {:#x} may count something else", spelling, other,
                             table.folder, definition.config),
                 "tmaprobe list events shows this CPU's own"});
        further.events.push_back({spelling, std::move(definition), false});
    }
    return further;
}

}  // namespace tmaprobe::experiments
