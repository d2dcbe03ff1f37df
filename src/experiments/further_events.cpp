#include "experiments/further_events.h"

#include <fmt/format.h>

namespace tmaprobe::experiments {

Result<FurtherEvents> further_events(const events::Table& table, const std::vector<std::string>& spellings) {
    FurtherEvents further;
    for (const std::string& spelling : spellings) {
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
