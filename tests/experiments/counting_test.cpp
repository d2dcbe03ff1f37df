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

}  // namespace
}  // namespace tmaprobe::experiments
