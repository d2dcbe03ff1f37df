#include "model/region_prefetcher.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

constexpr unsigned before = 4, after = 6;
constexpr std::uint64_t code = 0x401000;

/// So far from a line that missed: what is asked for.
std::set<int> around(RegionPrefetcher& prefetcher, std::uint64_t line, std::uint64_t instruction = code) {
    std::set<int> distances;
    for (auto lines = prefetcher.note(line, instruction, true); lines; lines &= lines - 1)
        distances.insert(static_cast<int>(prefetcher.first_of(line) - line) + std::countr_zero(lines));
    return distances;
}

/// Regions far apart, of which the first line and those at these distances are asked for; the last one's answer.
std::set<int> after_regions(RegionPrefetcher& prefetcher, int regions, const std::vector<int>& distances,
                            std::uint64_t first = 1'000'003) {
    std::set<int> asked;
    for (int region = 0; region < regions; ++region) {
        const std::uint64_t line = first + static_cast<std::uint64_t>(region) * 1000;
        asked = around(prefetcher, line);
        for (const int distance : distances)
            prefetcher.note(line + static_cast<std::uint64_t>(distance), code + 8, true);
    }
    return asked;
}

TEST(RegionPrefetcher, AsksForWhatWasAskedForBefore) {
    RegionPrefetcher prefetcher(before, after);
    EXPECT_TRUE(after_regions(prefetcher, 16, {-4, 1, 6}).empty()) << "the first of them is not over";
    EXPECT_EQ(after_regions(prefetcher, 4, {-4, 1, 6}, 2'000'000), (std::set<int>{-4, 1, 6}));
    EXPECT_TRUE(around(prefetcher, 3'000'000, code + 4).empty()) << "of another instruction nothing is known";
    EXPECT_TRUE(around(prefetcher, 3'100'000, code + 8).empty()) << "it asked within other regions only";
}

TEST(RegionPrefetcher, KnowsNothingOfLinesFurtherOff) {
    RegionPrefetcher prefetcher(before, after);
    // Each is a region of its own, of the second instruction.
    EXPECT_TRUE(after_regions(prefetcher, 40, {-5}).empty());
    EXPECT_TRUE(after_regions(prefetcher, 40, {7}, 2'000'000).empty());
}

TEST(RegionPrefetcher, ALineThatTheFirstLevelHasBeginsNoRegionAndIsNotedInOne) {
    RegionPrefetcher prefetcher(before, after);
    for (std::uint64_t region = 0; region < 40; ++region) {
        EXPECT_EQ(prefetcher.note(1000 * region, code, false), 0u);
        EXPECT_EQ(prefetcher.note(1000 * region + 1, code, false), 0u);
    }
    EXPECT_TRUE(around(prefetcher, 500'000).empty());
    for (std::uint64_t region = 0; region < 40; ++region) {
        prefetcher.note(1'000'000 + 1000 * region, code, true);
        prefetcher.note(1'000'000 + 1000 * region + 2, code, false);
    }
    EXPECT_EQ(around(prefetcher, 1'500'000), std::set<int>{2});
}

TEST(RegionPrefetcher, ForgetsWhatIsNotAskedForAnyMoreAndIsSeldomSureOfWhatIsAskedForByChance) {
    RegionPrefetcher prefetcher(before, after);
    after_regions(prefetcher, 40, {1});
    after_regions(prefetcher, 40, {}, 2'000'000);
    EXPECT_TRUE(around(prefetcher, 3'000'000).empty());
    Random random(7);
    const auto share = [&](std::uint64_t of_so_many) {
        int asked = 0;
        constexpr int regions = 4000;
        for (std::uint64_t region = 0; region < regions; ++region) {
            const std::uint64_t line = 1000 * region + 10'000'000 * of_so_many;
            asked += static_cast<int>(around(prefetcher, line).count(1));
            if (random.below(of_so_many) == 0) prefetcher.note(line + 1, code, true);
        }
        return asked / static_cast<double>(regions);
    };
    // Of counters from 0 to 3 that go up and down by chance: 1/2, 1/10, 1/50 are at 2 or 3.
    EXPECT_NEAR(share(2), 0.5, 0.08);
    EXPECT_NEAR(share(4), 0.1, 0.04);
    EXPECT_LT(share(8), 0.04);
}

TEST(RegionPrefetcher, IsNotThereWhereNoLinesAre) {
    RegionPrefetcher prefetcher(0, 0);
    EXPECT_TRUE(after_regions(prefetcher, 100, {0, 1}).empty());
}

}  // namespace
}  // namespace tmaprobe::model
