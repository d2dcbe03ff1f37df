#include "model/region_sums.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

using Paths = std::vector<std::vector<std::uint32_t>>;

/// A window of the whole command, with so many instructions in each path of regions, at so many cycles each.
struct Part {
    std::uint32_t path = 0;
    double instructions = 0, cycles_each = 0;
};

WindowFacts window_of(const std::vector<Part>& parts, double native_ns) {
    WindowFacts window;
    window.native_ns = native_ns;
    for (const Part& part : parts) {
        const Facts facts{{"instructions", part.instructions}, {"cycles", part.instructions * part.cycles_each}};
        add(window.base, facts, 1);
        window.regions.push_back({part.path, facts});
    }
    return window;
}

EntryWindow entry_of(std::uint32_t region, double instructions, double cycles_each) {
    EntryWindow entry;
    entry.region = region;
    entry.instructions = instructions;
    entry.facts.base = {{"instructions", instructions}, {"cycles", instructions * cycles_each}};
    return entry;
}

RegionNames names_of(std::initializer_list<const char*> names) {
    RegionNames all;
    for (const char* const name : names) all.marked.list.emplace_back().name = name;
    return all;
}

double cycles_each(const RegionSum& sum) { return cycles_of(sum.facts) / value_of(sum.facts, "instructions"); }

ModelledRegions sums_of(const std::vector<WindowFacts>& windows, const std::vector<EntryWindow>& entries,
                        const Paths& paths, std::function<ShareOfTime(std::uint32_t)> otherwise = {}) {
    ModelledCpu cpu;
    cpu.frequency_hz = 1e9;
    return sum_up_regions(names_of({"one", "other"}), {windows, entries, paths, {}, std::move(otherwise)}, cpu, {});
}

const Paths paths{{}, {0}, {1}};

TEST(RegionSums, AWindowIsSharedOutOverItsRegions) {
    const auto sums = sums_of({window_of({{1, 5000, 1}, {2, 5000, 3}}, 1e6)}, {}, paths);
    EXPECT_DOUBLE_EQ(sums.known.list[0].cost->share, 0.25);
    EXPECT_DOUBLE_EQ(sums.known.list[1].cost->share, 0.75);
    EXPECT_DOUBLE_EQ(sums.known.outside_share, 0);
    EXPECT_DOUBLE_EQ(cycles_each(sums.sums[1]), 3);
}

TEST(RegionSums, ARegionThatNoWindowOfTheWholeMetHasTheTreeOfItsEntries) {
    const auto sums =
        sums_of({window_of({{0, 10'000, 1}}, 1e6)}, {entry_of(1, 4000, 2)}, paths,
                [](std::uint32_t region) { return region == 1 ? ShareOfTime{0.02, 0.01, 0.05} : ShareOfTime{}; });
    const record::Region& other = sums.known.list[1];
    EXPECT_TRUE(other.reason.empty()) << other.reason;
    EXPECT_DOUBLE_EQ(cycles_each(sums.sums[1]), 2);
    EXPECT_EQ(other.cost->windows, 1u);
    EXPECT_EQ(other.cost->entry_windows, 1u);
    EXPECT_DOUBLE_EQ(other.cost->share, 0.02);
    EXPECT_DOUBLE_EQ(other.cost->high, 0.05);
    EXPECT_DOUBLE_EQ(sums.known.outside_share, 0.99);
    EXPECT_FALSE(sums.known.list[0].cost.has_value());
    EXPECT_EQ(sums.known.list[0].reason, "no window of the model met it");
}

TEST(RegionSums, EntriesDoNotChangeTheShareThatWindowsOfTheWholeTell) {
    const std::vector<WindowFacts> windows{window_of({{0, 6000, 1}, {1, 4000, 1}}, 1e6)};
    const auto without = sums_of(windows, {}, paths), with = sums_of(windows, {entry_of(0, 8000, 9)}, paths);
    EXPECT_DOUBLE_EQ(without.known.list[0].cost->share, 0.4);
    EXPECT_DOUBLE_EQ(with.known.list[0].cost->share, 0.4);
    EXPECT_DOUBLE_EQ(with.known.outside_share, without.known.outside_share);
}

TEST(RegionSums, EntriesAndWindowsOfTheWholeWeighAsWhatTheyHaveOfIt) {
    // Of 4000 instructions at 1 cycle and 4000 at 3, each stands for half of the region's time: 2 cycles for 4/3.
    const auto sums = sums_of({window_of({{1, 4000, 1}}, 1e6)}, {entry_of(0, 4000, 3)}, paths);
    EXPECT_NEAR(cycles_each(sums.sums[0]), 1.5, 1e-9);
}

}  // namespace
}  // namespace tmaprobe::model
