#include "experiments/cache_share.h"

#include <gtest/gtest.h>

namespace tmaprobe::experiments {
namespace {

constexpr std::uint64_t mega = 1 << 20;

TEST(EffectiveShare, AllOfItOnAQuietMachine) {
    EXPECT_EQ(effective_share({{4 * mega, 21, 21}, {8 * mega, 28, 28}, {16 * mega, 50, 48}}, 110), 16 * mega);
}

TEST(EffectiveShare, EndsWhereNeighboursEvictIt) {
    EXPECT_EQ(effective_share({{4 * mega, 24, 21}, {8 * mega, 98, 28}, {16 * mega, 108, 54}}, 110), 4 * mega);
}

TEST(EffectiveShare, NothingWhenEvenTheSmallestGoes) { EXPECT_EQ(effective_share({{4 * mega, 100, 21}}, 110), 0u); }

// One lucky size above an unlucky one is luck: the share ends at the first block that did not stay.
TEST(EffectiveShare, ALaterBlockDoesNotCount) {
    EXPECT_EQ(effective_share({{4 * mega, 22, 21}, {8 * mega, 99, 28}, {16 * mega, 50, 54}}, 110), 4 * mega);
}

TEST(Impossible, WhenACachedBlockIsSlowerThanMemory) {
    record::CacheShare share;
    share.memory_ns = 110;
    share.points = {{4 * mega, 24, 21}, {8 * mega, 120, 28}};
    EXPECT_FALSE(impossible(share));
    share.points.push_back({16 * mega, 4405, 50});
    EXPECT_TRUE(impossible(share));
}

TEST(MeasureCacheShare, NeedsALastLevelCache) {
    machine::Host host;
    host.caches = {{1, "data", 32768, 64, 8, 1, "test"}};
    const auto share = measure_cache_share(host, 0);
    ASSERT_FALSE(share);
    EXPECT_EQ(share.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace tmaprobe::experiments
