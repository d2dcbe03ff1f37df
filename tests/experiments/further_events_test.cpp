#include "experiments/further_events.h"

#include <gtest/gtest.h>

#include "events/table.h"

namespace tmaprobe::experiments {
namespace {

std::vector<std::string> names(const std::string& target, const std::vector<std::string>& spellings) {
    const auto table = events::load(events::Library{}, target);
    EXPECT_TRUE(table);
    const auto further = further_events(*table, spellings);
    EXPECT_TRUE(further) << further.error().what;
    std::vector<std::string> names;
    if (further)
        for (const auto& event : further->events) names.push_back(event.definition.pmu + " " + event.name);
    return names;
}

TEST(FurtherEvents, OfAHybridAreCountedOnEveryPmuThatHasThem) {
    EXPECT_EQ(names("alderlake", {"instructions", "cycles"}),
              (std::vector<std::string>{"cpu_core cpu_core/instructions/", "cpu_atom cpu_atom/instructions/",
                                        "cpu_core cpu_core/cycles/", "cpu_atom cpu_atom/cycles/"}));
    EXPECT_EQ(names("alderlake", {"cpu_atom/instructions/"}).size(), 1u);
}

TEST(FurtherEvents, OfOnePmuKeepTheirSpelling) {
    EXPECT_EQ(names("skylake", {"instructions"}), std::vector<std::string>{" instructions"});
}

}  // namespace
}  // namespace tmaprobe::experiments
