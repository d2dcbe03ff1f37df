#include "counters/resctrl/steps.h"

#include <gtest/gtest.h>

#include <bit>

namespace tmaprobe::counters::resctrl {
namespace {

Info with_cache(const std::string& name, std::uint64_t mask, int least) {
    Info info;
    info.caches.push_back({name, mask, least, false, 16});
    info.default_schemata = name + ":0=ff\n";
    return info;
}

Info with_bandwidth(BandwidthControl control) {
    Info info;
    info.bandwidth = control;
    info.default_schemata = "MB:0=100\n";
    return info;
}

std::vector<int> caps(const Info& info) {
    std::vector<int> values;
    const auto steps = steps_of(info, "mb");
    EXPECT_TRUE(steps) << steps.error().what;
    for (const auto& step : steps.value_or(std::vector<KeeperStep>{}))
        values.push_back(step.limit.bandwidth.value_or(-1));
    return values;
}

TEST(ResctrlSteps, BitmapsGrowFromTheLeastToAll) {
    const auto steps = steps_of(with_cache("L3", 0x7ff, 2), "l3");
    ASSERT_TRUE(steps);
    ASSERT_EQ(steps->size(), 10u);
    EXPECT_EQ(steps->front().name, "l3=0x3 (2 of 11 bits)");
    EXPECT_EQ(steps->back().limit.cache_mask, 0x7ffu);
}

TEST(ResctrlSteps, WideBitmapsAreThinnedAndStayTakeable) {
    for (const std::uint64_t mask :
         {std::uint64_t{1}, std::uint64_t{0xffff}, std::uint64_t{0xfffff}, ~std::uint64_t{0}}) {
        const Info info = with_cache("L3DATA", mask, 1);
        const auto steps = steps_of(info, "l3");
        ASSERT_TRUE(steps);
        EXPECT_LE(steps->size(), 12u);
        EXPECT_EQ(std::popcount(*steps->front().limit.cache_mask), 1);
        EXPECT_EQ(steps->back().limit.cache_mask, mask);
        for (std::size_t index = 0; index < steps->size(); ++index) {
            EXPECT_TRUE(schemata_for(info, (*steps)[index].limit)) << (*steps)[index].name;
            if (index) EXPECT_GT(*(*steps)[index].limit.cache_mask, *(*steps)[index - 1].limit.cache_mask);
        }
    }
}

TEST(ResctrlSteps, PercentGoesEvenlyInTheHardwaresSteps) {
    EXPECT_EQ(caps(with_bandwidth({10, 10, 100, true, false, 8})),
              (std::vector<int>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}));
    const auto fine = caps(with_bandwidth({5, 5, 100, true, false, 8}));
    EXPECT_LE(fine.size(), 10u);
    EXPECT_EQ(fine.front(), 5);
    EXPECT_EQ(fine.back(), 100);
    for (const int cap : fine) EXPECT_EQ(cap % 5, 0) << cap;
}

TEST(ResctrlSteps, AbsoluteUnitsGoByAFactor) {
    const auto amd = caps(with_bandwidth({1, 1, 2048, false, false, 16}));
    ASSERT_GE(amd.size(), 8u);
    EXPECT_EQ(amd.front(), 1);
    EXPECT_EQ(amd.back(), 2048);
    EXPECT_LT(amd[amd.size() / 2], 200);
    const auto megabytes = caps(with_bandwidth({10, 10, 1 << 30, false, true, 8}));
    EXPECT_EQ(megabytes.front(), 1000);
    EXPECT_EQ(megabytes.back(), 64000);
}

TEST(ResctrlSteps, SaysWhatThereIsNotToSweep) {
    EXPECT_EQ(steps_of(with_cache("L3", 0xf, 1), "mb").error().code, ErrorCode::unavailable);
    EXPECT_EQ(steps_of(with_cache("L2", 0xf, 1), "l3").error().code, ErrorCode::unavailable);
    EXPECT_EQ(steps_of(with_cache("L3", 0, 1), "l3").error().code, ErrorCode::unavailable);
    EXPECT_EQ(steps_of(with_cache("L3", 0xf, 1), "l2").error().code, ErrorCode::bad_usage);
    EXPECT_EQ(caps(with_bandwidth({0, 0, 100, true, false, 0})).back(), 100);
}

}  // namespace
}  // namespace tmaprobe::counters::resctrl
