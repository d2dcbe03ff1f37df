#include "model/region_entries.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>
#include <vector>

namespace tmaprobe::model {
namespace {

constexpr std::size_t window_steps = 1000;

/// Where windows of an entry lie: first instructions, and how many there are.
struct Placed {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> windows;
    std::vector<double> stand_for;
};

Placed placed(std::uint64_t instructions, std::uint64_t seed = 1) {
    EntryPlaces places(window_steps, seed);
    Placed found;
    for (std::uint64_t i = 0; i < instructions; ++i)
        if (places.step()) found.windows.emplace_back(places.executed() - window_steps, window_steps);
    if (const auto cut = places.cut_short(); cut >= EntryPlaces::shortest_window)
        found.windows.emplace_back(places.executed() - cut, cut);
    found.stand_for = places.stand_for(found.windows.size());
    return found;
}

EntryWindow window_of(std::uint32_t entry, double cycles_per_instruction, double simulated, double stands_for) {
    EntryWindow made;
    made.region = 7;
    made.entry = entry;
    made.instructions = stands_for;
    made.facts.base = {{"cycles", simulated * cycles_per_instruction}, {"instructions", simulated}};
    return made;
}

ModelledCpu cpu_of_1_ghz() {
    ModelledCpu cpu;
    cpu.frequency_hz = 1e9;
    return cpu;
}

TEST(EntryPlaces, AShortEntryIsAllInItsWindow) {
    const auto found = placed(640);
    EXPECT_THAT(found.windows, testing::ElementsAre(std::pair<std::uint64_t, std::uint64_t>(0, 640)));
    EXPECT_THAT(found.stand_for, testing::ElementsAre(640));
}

TEST(EntryPlaces, TheFirstWindowBeginsWithTheFirstInstructionAndStandsForItself) {
    const auto found = placed(100'000);
    ASSERT_GT(found.windows.size(), 3u);
    EXPECT_EQ(found.windows[0].first, 0u);
    EXPECT_EQ(found.stand_for[0], window_steps);
}

TEST(EntryPlaces, WindowsStandTogetherForAllThatWasExecuted) {
    for (const std::uint64_t length : {100u, 999u, 1000u, 1001u, 1500u, 3000u, 3001u, 12'345u, 400'000u}) {
        const auto found = placed(length);
        EXPECT_EQ(std::accumulate(found.stand_for.begin(), found.stand_for.end(), 0.0), static_cast<double>(length));
        // Each lies in what it stands for, the first stretch but for what no window came to.
        double begin = 0;
        for (std::size_t i = 0; i < found.windows.size(); ++i) {
            EXPECT_GE(static_cast<double>(found.windows[i].first), begin) << length;
            begin += found.stand_for[i];
            EXPECT_LE(static_cast<double>(found.windows[i].first + found.windows[i].second), begin) << length;
        }
    }
}

TEST(EntryPlaces, LongEntriesHaveFewWindows) { EXPECT_LE(placed(5'000'000).windows.size(), 40u); }

TEST(EntryPlaces, LaterWindowsLieWhereChanceHasThem) {
    std::set<std::uint64_t> places;
    for (std::uint64_t seed = 0; seed < 20; ++seed) places.insert(placed(100'000, seed).windows.at(15).first);
    EXPECT_GT(places.size(), 15u);
    EXPECT_EQ(placed(100'000, 5).windows, placed(100'000, 5).windows);
}

TEST(MomentsOfEntries, AColdStartWeighsNoMoreThanItLasts) {
    // 1000 instructions at 5 cycles each, and 99,000 at 1, of which a window has 1000.
    const auto moments = moments_of({window_of(0, 5, 1000, 1000), window_of(0, 1, 1000, 99'000)}, 7, 0, cpu_of_1_ghz());
    ASSERT_EQ(moments.size(), 1u);
    EXPECT_DOUBLE_EQ(cycles_of(moments[0].base), 5 * 1000 + 99'000);
    EXPECT_DOUBLE_EQ(value_of(moments[0].base, "instructions"), 100'000);
    EXPECT_DOUBLE_EQ(moments[0].native_ns, 104'000);
}

TEST(MomentsOfEntries, StandTogetherForTheTimeThatIsGiven) {
    const auto moments = moments_of({window_of(0, 1, 1000, 1000), window_of(1, 3, 1000, 1000)}, 7, 1e6, cpu_of_1_ghz());
    ASSERT_EQ(moments.size(), 2u);
    EXPECT_DOUBLE_EQ(moments[0].native_ns, 0.25e6);
    EXPECT_DOUBLE_EQ(moments[1].native_ns, 0.75e6);
}

TEST(MomentsOfEntries, LeaveOutOtherRegions) {
    EXPECT_TRUE(moments_of({window_of(0, 1, 1000, 1000)}, 8, 0, cpu_of_1_ghz()).empty());
}

TEST(MomentsOfEntries, AVariationThatAWindowDoesNotHaveChangesNothingOfIt) {
    auto first = window_of(0, 2, 1000, 1000);
    first.facts.variations.push_back(
        {record::Variation::caches_not_warmed, {{"cycles", 9000}, {"instructions", 1000}}, {}, {}, {}});
    const auto moments = moments_of({first, window_of(0, 1, 1000, 3000)}, 7, 0, cpu_of_1_ghz());
    ASSERT_EQ(moments.at(0).variations.size(), 1u);
    EXPECT_DOUBLE_EQ(cycles_of(moments[0].variations[0].facts), 9000 + 3000);
}

TEST(EntriesBesideTheWhole, CountAsWhatTheyHaveOfTheRegion) {
    const std::vector<EntryWindow> entries{window_of(0, 1, 1000, 1000), window_of(1, 1, 2000, 2000)};
    EXPECT_DOUBLE_EQ(like_so_many_instructions(entries, 7), 3000);
    // The whole has 1000 instructions of it, which stand for a millisecond: three times as much is known from entries.
    EXPECT_DOUBLE_EQ(time_of_entries({1e6, 1000}, entries, 7), 3e6);
    EXPECT_DOUBLE_EQ(time_of_entries({}, entries, 7), 0);
    // What stands for much more than it has counts for little.
    EXPECT_LT(like_so_many_instructions({window_of(0, 1, 1000, 1000), window_of(0, 1, 1000, 99'000)}, 7), 1100);
}

TEST(EntriesBesideTheWhole, AreAppendedWithTheirTimes) {
    std::vector<EntryWindow> entries{window_of(0, 1, 1000, 1000), window_of(0, 2, 1000, 1000)};
    std::vector<WindowFacts> windows(1);
    windows[0].native_ns = 5e6;
    append_entries(entries, {1e6, 500}, cpu_of_1_ghz(), windows);
    ASSERT_EQ(windows.size(), 3u);
    EXPECT_DOUBLE_EQ(windows[0].native_ns, 5e6);
    EXPECT_DOUBLE_EQ(windows[1].native_ns + windows[2].native_ns, 4e6);
    EXPECT_DOUBLE_EQ(windows[2].native_ns, 2 * windows[1].native_ns);
}

}  // namespace
}  // namespace tmaprobe::model
