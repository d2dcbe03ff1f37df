#include "judge/pmus.h"

#include <gtest/gtest.h>

namespace tmaprobe::judge {
namespace {

record::Event event(const std::string& pmu, std::uint64_t running_ns, record::Note note = record::Note::none) {
    record::Event made;
    made.name = "cycles";
    made.pmu = pmu;
    made.reading = {1000, 1000, 100, running_ns};
    made.note = note;
    return made;
}

using Names = std::vector<std::string>;

TEST(Hybrid, BothPmusHaveATreeWhereBothCounted) {
    EXPECT_EQ(pmus_of({event("cpu_atom", 40), event("cpu_core", 60), event("software", 100)}),
              (Names{"cpu_core", "cpu_atom"}));
}

TEST(Hybrid, APmuThatNeverCountedHasNone) {
    EXPECT_EQ(pmus_of({event("cpu_core", 0, record::Note::other_cores), event("cpu_atom", 100)}), Names{"cpu_atom"});
    auto unopened = event("cpu_core", 0, record::Note::other_cores);
    unopened.reading = {};
    EXPECT_EQ(pmus_of({unopened, event("cpu_atom", 100)}), Names{"cpu_atom"});
    EXPECT_EQ(pmus_of({event("cpu_core", 100), event("cpu_atom", 0, record::Note::not_supported)}), Names{"cpu_core"});
}

TEST(Hybrid, WithoutAnyCountTheFirstSaysWhy) {
    EXPECT_EQ(
        pmus_of({event("cpu_core", 0, record::Note::not_counted), event("cpu_atom", 0, record::Note::not_counted)}),
        Names{"cpu_core"});
}

TEST(Hybrid, CountsWithoutTimesAreCounts) {
    auto replayed = event("cpu_atom", 0);
    replayed.reading.time_enabled_ns = 0;
    EXPECT_EQ(pmus_of({replayed}), Names{"cpu_atom"});
}

TEST(Hybrid, OtherMachinesHaveOneTreeWithoutAName) { EXPECT_EQ(pmus_of({event("cpu", 100)}), Names{""}); }

TEST(Hybrid, EventsOfOnePmuKeepThoseOfNone) {
    const std::vector<record::Event> all = {event("cpu_core", 60), event("cpu_atom", 40), event("software", 100)};
    const auto chosen = events_on(all, "cpu_atom");
    ASSERT_EQ(chosen.size(), 2u);
    EXPECT_EQ(chosen[0].pmu, "cpu_atom");
    EXPECT_EQ(chosen[1].pmu, "software");
    EXPECT_EQ(events_on(all, "").size(), 3u);
}

}  // namespace
}  // namespace tmaprobe::judge
