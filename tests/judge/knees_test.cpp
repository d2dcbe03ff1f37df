#include "judge/knees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/sizes.h"
#include "judge/predicted_knees.h"

namespace tmaprobe::judge {
namespace {

/// Cost that a level of this capacity adds: random replacement misses with 1 - capacity / size, LRU
/// under a cyclic walk misses always once the block is larger.
double random_misses(double size, double capacity) { return size > capacity ? 1 - capacity / size : 0; }
double lru_misses(double size, double capacity) { return size > capacity ? 1 : 0; }

/// Sizes 2^k and 1.5 x 2^k from 16K to 256M with noise of this relative spread.
std::vector<CurvePoint> curve(const std::function<double(double)>& cost, double noise = 0, unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> spread(0, noise);
    std::vector<CurvePoint> points;
    for (std::uint64_t size = 16 * kib; size <= 256 * mib; size *= 2)
        for (const std::uint64_t each : {size, size + size / 2}) {
            const double value = cost(static_cast<double>(each)) * (noise > 0 ? std::exp(spread(generator)) : 1);
            points.push_back({each, value, value * (1 - 1.96 * noise), value * (1 + 1.96 * noise)});
        }
    return points;
}

/// Distance in octaves from the nearest knee; large when there is none.
double distance(const std::vector<record::Knee>& knees, std::uint64_t size) {
    double nearest = 99;
    for (const auto& knee : knees)
        nearest =
            std::min(nearest, std::fabs(std::log2(static_cast<double>(knee.size_bytes) / static_cast<double>(size))));
    return nearest;
}

TEST(Knees, OfALevelCurveAreNone) {
    EXPECT_TRUE(find_knees(curve([](double) { return 5.0; })).empty());
    for (unsigned seed = 1; seed <= 50; ++seed)
        EXPECT_TRUE(find_knees(curve([](double) { return 5.0; }, 0.03, seed)).empty()) << seed;
}

TEST(Knees, OfOneCacheIsWhereItEnds) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const auto knees =
            find_knees(curve([](double size) { return 4 + 10 * random_misses(size, 1 * mib); }, 0.01, seed));
        ASSERT_EQ(knees.size(), 1U) << seed;
        EXPECT_LE(distance(knees, 1 * mib), 0.6) << knees[0].size_bytes;
        EXPECT_NEAR(knees[0].ratio, 3.5, 0.25);
        EXPECT_EQ(knees[0].kind, record::KneeKind::found);
    }
}

TEST(Knees, OfThePublishedZen2CurveAreTheTlbReachAndTheCache) {
    const auto small_pages = [](double size) {
        return 12 + 5 * random_misses(size, 8 * mib) + 60 * random_misses(size, 16 * mib);
    };
    const auto huge_pages = [](double size) { return 12 + 60 * random_misses(size, 16 * mib); };
    for (unsigned seed = 1; seed <= 20; ++seed) {
        auto with_small = curve(small_pages, 0.005, seed), with_huge = curve(huge_pages, 0.005, seed);
        const auto beyond_l2 = [](const CurvePoint& point) {
            return point.size_bytes < 1 * mib || point.size_bytes > 64 * mib;
        };
        std::erase_if(with_small, beyond_l2);
        std::erase_if(with_huge, beyond_l2);
        const auto small = find_knees(with_small), huge = find_knees(with_huge);
        EXPECT_LE(distance(small, 8 * mib), 0.6) << seed;
        EXPECT_LE(distance(small, 16 * mib), 0.6) << seed;
        EXPECT_GT(distance(huge, 8 * mib), 0.6) << seed;
        EXPECT_LE(distance(huge, 16 * mib), 0.6) << seed;
    }
}

TEST(Knees, OfAHierarchyAreAllFound) {
    const auto cost = [](double size) {
        return 1.3 + 3.3 * random_misses(size, 32 * kib) + 18 * random_misses(size, 1 * mib) +
               90 * random_misses(size, 32 * mib);
    };
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const auto knees = find_knees(curve(cost, 0.01, seed));
        for (const std::uint64_t size : {32 * kib, 1 * mib, 32 * mib})
            EXPECT_LE(distance(knees, size), 0.6) << seed << " " << size;
        EXPECT_LE(knees.size(), 5U) << seed;
    }
}

TEST(Knees, OfACliffAreFoundToo) {
    const auto knees = find_knees(curve([](double size) { return 4 + 12 * lru_misses(size, 1 * mib); }, 0.01));
    ASSERT_EQ(knees.size(), 1U);
    EXPECT_LE(distance(knees, 1 * mib), 0.6);
    EXPECT_NEAR(knees[0].ratio, 4, 0.3);
}

TEST(Knees, SmallerThanTheNoiseAreNotClaimed) {
    int claimed = 0;
    for (unsigned seed = 1; seed <= 50; ++seed)
        claimed +=
            !find_knees(curve([](double size) { return 10 + 0.3 * random_misses(size, 1 * mib); }, 0.03, seed)).empty();
    EXPECT_EQ(claimed, 0);
}

TEST(Knees, OfATiltedLineAreNone) {
    EXPECT_TRUE(find_knees(curve([](double size) { return std::pow(size, 0.1); }, 0.01)).empty());
}

TEST(Knees, OfTooFewOrWorthlessPointsAreNone) {
    EXPECT_TRUE(find_knees({}).empty());
    EXPECT_TRUE(find_knees({{1 * mib, 1, 1, 1}, {2 * mib, 9, 9, 9}}).empty());
    std::vector<CurvePoint> worthless(20, CurvePoint{1 * mib, 5, 5, 5});
    EXPECT_TRUE(find_knees(worthless).empty());
    EXPECT_TRUE(find_knees(curve([](double) { return std::nan(""); })).empty());
    EXPECT_TRUE(find_knees(curve([](double) { return 0.0; })).empty());
}

TEST(Knees, DoNotDependOnTheOrderOfPoints) {
    auto points = curve([](double size) { return 4 + 10 * random_misses(size, 1 * mib); }, 0.01);
    const auto before = find_knees(points);
    std::shuffle(points.begin(), points.end(), std::mt19937(7));
    const auto after = find_knees(points);
    ASSERT_EQ(before.size(), after.size());
    EXPECT_EQ(before[0].size_bytes, after[0].size_bytes);
}

machine::Host zen2() {
    machine::Host host;
    host.caches = {{1, "data", 32 * kib, 64, 8, 2, "cpuid 8000001Dh"},
                   {1, "instruction", 32 * kib, 64, 8, 2, ""},
                   {2, "unified", 512 * kib, 64, 8, 2, ""},
                   {3, "unified", 16 * mib, 64, 16, 8, ""}};
    host.tlbs = {{1, "data", 4 * kib, 64, -1, ""},
                 {2, "data", 4 * kib, 2048, 8, ""},
                 {2, "instruction", 4 * kib, 1024, 8, ""},
                 {1, "data", 2 * mib, 64, -1, ""},
                 {2, "data", 2 * mib, 2048, 4, ""}};
    return host;
}

TEST(PredictedKnees, OfZen2AreThePublishedOnes) {
    const auto small = predicted_knees(zen2(), 4 * kib);
    ASSERT_EQ(small.size(), 5U);
    EXPECT_EQ(small[1].size_bytes, 256 * kib);
    EXPECT_EQ(small[3].size_bytes, 8 * mib);
    EXPECT_EQ(small[3].cause, "L2 TLB reach 8M (2048 x 4k)");
    EXPECT_EQ(small[4].cause, "L3 cache 16M");
    const auto huge = predicted_knees(zen2(), 2 * mib);
    EXPECT_EQ(huge.back().size_bytes, 4096 * mib);
}

TEST(PredictedKnees, AddUpStructuresOfOneLevel) {
    machine::Host host;
    host.tlbs = {{2, "unified", 4 * kib, 1024, 8, ""}, {2, "unified", 4 * kib, 1024, 8, ""}};
    EXPECT_EQ(predicted_knees(host, 4 * kib).at(0).size_bytes, 8 * mib);
    EXPECT_TRUE(predicted_knees({}, 4 * kib).empty());
}

TEST(ExplainedKnees, NameTheNearestCause) {
    std::vector<record::Knee> found{{6 * mib, 1.31, "", record::KneeKind::found, record::PageKind::none},
                                    {100 * mib, 2.5, "", record::KneeKind::found, record::PageKind::none}};
    explain_knees(found, predicted_knees(zen2(), 4 * kib), {4 * mib, 6 * mib, 8 * mib, 100 * mib});
    EXPECT_EQ(describe_knees(found), "+31% from 6M (L2 TLB reach 8M (2048 x 4k)), x2.5 from 100M (not predicted)");
    EXPECT_EQ(describe_knees({}), "no knee");
}

TEST(ExplainedKnees, AllowACacheToEndEarlyAndATlbLess) {
    const std::vector<record::Knee> cache{
        {1 * mib, 1, "L2 cache 1M", record::KneeKind::predicted, record::PageKind::none, record::KneeCause::cache}},
        tlb{{1 * mib, 1, "L2 TLB reach 1M", record::KneeKind::predicted, record::PageKind::none,
             record::KneeCause::tlb}};
    for (const auto& [size, by_cache, by_tlb] : {std::tuple{512 * kib, true, false},
                                                 {768 * kib, true, true},
                                                 {1152 * kib, true, true},
                                                 {1536 * kib, false, false}}) {
        std::vector<record::Knee> one{{size, 2, "", record::KneeKind::found, record::PageKind::none}}, other = one;
        explain_knees(one, cache, {size});
        explain_knees(other, tlb, {size});
        EXPECT_EQ(!one[0].cause.empty(), by_cache) << size;
        EXPECT_EQ(!other[0].cause.empty(), by_tlb) << size;
    }
}

TEST(ExplainedKnees, AreNotBlamedOnATlbWhenTheyAreTooLargeForIt) {
    std::vector<record::Knee> found{{8 * mib, 10, "", record::KneeKind::found, record::PageKind::none}};
    explain_knees(found,
                  {{12 * mib, 1, "L2 TLB reach 12M", record::KneeKind::predicted, record::PageKind::none,
                    record::KneeCause::tlb}},
                  {8 * mib, 12 * mib});
    EXPECT_EQ(found[0].cause, "");
}

TEST(ExplainedKnees, NameBothCausesThatCoincide) {
    std::vector<record::Knee> found{{16 * mib, 2, "", record::KneeKind::found, record::PageKind::none}};
    explain_knees(
        found,
        {{16 * mib, 1, "L3 cache 16M", record::KneeKind::predicted, record::PageKind::none, record::KneeCause::cache},
         {16 * mib, 1, "L2 TLB reach 16M", record::KneeKind::predicted, record::PageKind::none,
          record::KneeCause::tlb}},
        {16 * mib});
    EXPECT_EQ(found[0].cause, "L3 cache 16M or L2 TLB reach 16M");
}

TEST(ExplainedKnees, AreJudgedByTheKindOfTheirCauseAndNotByItsWords) {
    const record::Knee cache{
        1 * mib, 1, "the second level", record::KneeKind::predicted, record::PageKind::none, record::KneeCause::cache};
    EXPECT_TRUE(is_cache_knee(cache));
    std::vector<record::Knee> found{{1 * mib, 9, "", record::KneeKind::found, record::PageKind::none}}, other = found;
    explain_knees(found, {cache}, {1 * mib});
    EXPECT_EQ(found[0].cause, "the second level");
    EXPECT_EQ(found[0].caused_by, record::KneeCause::cache);
    record::Knee tlb = cache;
    tlb.caused_by = record::KneeCause::tlb;
    tlb.cause = "the TLB beside a cache of 1M";
    explain_knees(other, {tlb}, {1 * mib});
    EXPECT_EQ(other[0].cause, "");
    EXPECT_EQ(other[0].caused_by, record::KneeCause::unknown);
}

TEST(ExplainedKnees, OfOneCauseAreOne) {
    std::vector<record::Knee> found{{768 * kib, 1.5, "", record::KneeKind::found, record::PageKind::none},
                                    {1 * mib, 2, "", record::KneeKind::found, record::PageKind::none}};
    explain_knees(
        found,
        {{1 * mib, 1, "L2 cache 1M", record::KneeKind::predicted, record::PageKind::none, record::KneeCause::cache}},
        {768 * kib, 1 * mib});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].size_bytes, 768 * kib);
    EXPECT_DOUBLE_EQ(found[0].ratio, 3);
}

}  // namespace
}  // namespace tmaprobe::judge
