#include "experiments/counting.h"

#include <gtest/gtest.h>

namespace tmaprobe::experiments {
namespace {

record::Event counted(double value, std::uint64_t enabled_ns, std::uint64_t running_ns) {
    record::Event event;
    event.name = "cycles";
    event.reading = {value, static_cast<std::uint64_t>(value), enabled_ns, running_ns};
    if (running_ns == 0) event.note = record::Note::not_counted;
    return event;
}

TEST(SumOf, AddsCountsAndTimes) {
    const auto sums = sum_of({{counted(100, 10, 10)}, {counted(50, 5, 5)}});
    ASSERT_EQ(sums.size(), 1u);
    EXPECT_DOUBLE_EQ(sums[0].reading.value, 150);
    EXPECT_EQ(sums[0].reading.time_enabled_ns, 15u);
    EXPECT_FALSE(sums[0].low);
}

TEST(SumOf, RunsWithoutACounterAreAShareWithBounds) {
    // The counters were taken away after three of five runs: 18.4 of 30.1 ms.
    for (const bool taken_first : {false, true}) {
        std::vector<std::vector<record::Event>> runs = {{counted(6'000'000, 6'000'000, 6'000'000)},
                                                        {counted(6'200'000, 6'200'000, 6'200'000)},
                                                        {counted(6'200'000, 6'200'000, 6'200'000)},
                                                        {counted(0, 5'800'000, 0)},
                                                        {counted(0, 5'900'000, 0)}};
        if (taken_first) std::swap(runs.front(), runs.back());
        const auto sums = sum_of(runs);
        ASSERT_EQ(sums.size(), 1u);
        const auto& sum = sums[0];
        EXPECT_EQ(sum.note, record::Note::none) << "it was counted, if not all the time";
        EXPECT_EQ(sum.reading.time_running_ns, 18'400'000u);
        EXPECT_EQ(sum.reading.time_enabled_ns, 30'100'000u);
        EXPECT_NEAR(sum.reading.value, 18.4e6 * 30.1 / 18.4, 1);
        ASSERT_TRUE(sum.low && sum.high);
        EXPECT_DOUBLE_EQ(*sum.low, 18.4e6) << "what was counted is there at least";
        EXPECT_GT(*sum.high, 1.3 * 30.1e6);
    }
}

TEST(SumOf, NoRunWithACounterIsNoCount) {
    const auto sums = sum_of({{counted(0, 10, 0)}, {counted(0, 5, 0)}});
    ASSERT_EQ(sums.size(), 1u);
    EXPECT_EQ(sums[0].note, record::Note::not_counted);
    EXPECT_EQ(sums[0].reading.time_running_ns, 0u);
}

/// One region, with an event of a pass.
counters::RegionSamples region(const std::string& name, int pass, double value, double share) {
    counters::RegionSamples samples;
    samples.known.list.push_back({});
    samples.known.list[0].name = name;
    samples.known.list[0].totals.emplace().entries = static_cast<std::uint64_t>(pass) + 1;
    samples.known.list[0].cost.emplace();
    samples.known.list[0].cost->share = samples.known.list[0].cost->low = samples.known.list[0].cost->high = share;
    samples.known.outside_share = 1 - share;
    auto event = counted(value, 10, 10);
    event.pass = pass;
    samples.events.push_back({{event}, {}});
    return samples;
}

TEST(AddRegions, PutsPassesOfARegionTogether) {
    std::optional<counters::RegionSamples> sum;
    add_regions(region("work", 0, 100, 0.4), 1, sum);
    add_regions(region("work", 1, 300, 0.6), 2, sum);
    add_regions(region("work", 1, 500, 0.8), 3, sum);
    ASSERT_EQ(sum->known.list.size(), 1u);
    ASSERT_EQ(sum->events[0].events.size(), 2u);
    EXPECT_DOUBLE_EQ(sum->events[0].events[0].reading.value, 100);
    EXPECT_DOUBLE_EQ(sum->events[0].events[1].reading.value, 800);
    EXPECT_NEAR(sum->known.list[0].cost->share, 0.6, 1e-12);
    EXPECT_DOUBLE_EQ(sum->known.list[0].cost->low, 0.4);
    EXPECT_DOUBLE_EQ(sum->known.list[0].cost->high, 0.8);
    EXPECT_NEAR(sum->known.outside_share, 0.4, 1e-12);
    EXPECT_EQ(sum->known.list[0].totals->entries, 2u) << "of the last run";
}

TEST(AddRegions, KeepsWhatOneRunAloneEntered) {
    std::optional<counters::RegionSamples> sum;
    add_regions(region("first", 0, 100, 0.4), 1, sum);
    add_regions(region("second", 0, 300, 0.6), 2, sum);
    ASSERT_EQ(sum->known.list.size(), 2u);
    EXPECT_EQ(sum->known.list[0].name, "second");
    EXPECT_EQ(sum->known.list[1].name, "first");
    EXPECT_DOUBLE_EQ(sum->events[1].events[0].reading.value, 100);
}

}  // namespace
}  // namespace tmaprobe::experiments
