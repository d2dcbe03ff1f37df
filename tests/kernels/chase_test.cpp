#include "kernels/chase/chase.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace tmaprobe::kernels::chase {
namespace {

/// A block of memory with a cycle in it.
struct Block {
    explicit Block(const Layout& wanted) : layout(wanted), bytes(wanted.bytes / sizeof(void*)) {
        write_cycle(reinterpret_cast<std::byte*>(bytes.data()), layout, 1);
    }
    /// Offsets visited in one lap, from the first place on.
    std::vector<std::uint64_t> lap() const {
        const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
        std::uintptr_t at = 0;
        for (std::size_t i = 0; !at; ++i) at = bytes[i];
        std::vector<std::uint64_t> visited;
        for (std::uint64_t i = 0; i < places(layout); ++i) {
            visited.push_back(at - start);
            at = bytes[(at - start) / sizeof(void*)];
        }
        EXPECT_EQ(at - start, visited.front()) << "the cycle does not close";
        return visited;
    }
    Layout layout;
    std::vector<std::uintptr_t> bytes;
};

Result<std::unique_ptr<Kernel>> make(std::uint64_t size, std::map<std::string, std::string> options = {}) {
    Parameters parameters;
    parameters.size_bytes = size;
    parameters.options = std::move(options);
    return descriptor().make("scalar", parameters);
}

}  // namespace

TEST(ChaseCycle, VisitsEveryLineOncePerLap) {
    for (const WalkOrder order : {WalkOrder::random, WalkOrder::page, WalkOrder::new_page})
        for (const std::uint64_t pages : {2U, 3U, 7U, 64U}) {
            const auto lap = Block({order, pages * 4096, 64, 4096}).lap();
            const std::set<std::uint64_t> distinct(lap.begin(), lap.end());
            EXPECT_EQ(distinct.size(), pages * 64) << "order " << int(order) << ", " << pages << " pages";
            for (const std::uint64_t offset : lap) EXPECT_EQ(offset % 64, 0U);
        }
}

TEST(ChaseCycle, RandomSpansTheBlockAndLooksLikeNoPattern) {
    const std::uint64_t bytes = 1 << 20;
    const auto lap = Block({WalkOrder::random, bytes, 64, 4096}).lap();
    std::map<std::int64_t, int> steps;
    double distance = 0;
    for (std::size_t i = 1; i < lap.size(); ++i) {
        const auto step = static_cast<std::int64_t>(lap[i]) - static_cast<std::int64_t>(lap[i - 1]);
        ++steps[step];
        distance += double(std::abs(step));
    }
    // Two places chosen at random are a third of the block apart in the mean.
    EXPECT_NEAR(distance / double(lap.size()) / double(bytes), 1.0 / 3, 0.02);
    for (const auto& [step, count] : steps) EXPECT_LT(count, 12) << "step " << step;
}

TEST(ChaseCycle, PageStaysInAPageUntilItIsDone) {
    const auto lap = Block({WalkOrder::page, 16 * 4096, 64, 4096}).lap();
    int changes = 0;
    for (std::size_t i = 0; i < lap.size(); ++i) changes += lap[i] / 4096 != lap[(i + 1) % lap.size()] / 4096;
    EXPECT_EQ(changes, 16);
}

TEST(ChaseCycle, NewPageChangesThePageEveryTimeEvenWhereTheLapCloses) {
    for (const std::uint64_t pages : {2U, 3U, 4U, 5U, 33U}) {
        const auto lap = Block({WalkOrder::new_page, pages * 4096, 64, 4096}).lap();
        for (std::size_t i = 0; i < lap.size(); ++i)
            EXPECT_NE(lap[i] / 4096, lap[(i + 1) % lap.size()] / 4096) << pages << " pages, place " << i;
    }
}

TEST(ChaseCycle, TlbTouchesOneLineOfEachPage) {
    const auto lap = Block({WalkOrder::tlb, 32 * 4096, 64, 4096}).lap();
    std::set<std::uint64_t> pages, lines;
    for (const std::uint64_t offset : lap) pages.insert(offset / 4096), lines.insert(offset % 4096);
    EXPECT_EQ(pages.size(), 32U);
    EXPECT_GT(lines.size(), 8U) << "one set of the cache must not have to hold them all";
}

TEST(ChaseCycle, DependsOnTheSeedAlone) {
    Block first({WalkOrder::random, 65536, 64, 4096}), again({WalkOrder::random, 65536, 64, 4096});
    EXPECT_EQ(first.lap(), again.lap());
}

TEST(ChaseLayout, RefusesWhatCannotBeWalked) {
    EXPECT_FALSE(check_layout({WalkOrder::random, 100, 64, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::random, 64, 64, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::random, 4096, 48, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::random, 4096, 4, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::page, 4096 + 64, 64, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::new_page, 4096, 64, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::tlb, 4096, 64, 4096}));
    EXPECT_FALSE(check_layout({WalkOrder::page, 8192, 4096, 64}));
    EXPECT_TRUE(check_layout({WalkOrder::random, 128, 64, 4096}));
}

TEST(ChaseKernel, CountsLoadsPerChain) {
    for (const int chains : {1, 2, 5, 12}) {
        auto kernel = make(65536, {{"chains", std::to_string(chains)}});
        ASSERT_TRUE(kernel) << kernel.error().what;
        EXPECT_EQ((*kernel)->per_iteration().operations, 64.0 * chains);
        (*kernel)->prepare();
        (*kernel)->run(100);
    }
}

TEST(ChaseKernel, BeginsAnywhereInABlockOfVeryManyLines) {
    auto kernel = make(std::uint64_t{66} << 20, {{"order", "tlb"}, {"page", "16"}, {"line", "8"}, {"chains", "3"}});
    ASSERT_TRUE(kernel) << kernel.error().what;
    (*kernel)->run(10);
}

TEST(ChaseKernel, RunsInEveryOrder) {
    for (const char* order : {"random", "page", "newpage", "tlb"}) {
        auto kernel = make(1 << 20, {{"order", order}, {"refresh", "yes"}, {"chains", "3"}});
        ASSERT_TRUE(kernel) << kernel.error().what;
        (*kernel)->prepare();
        (*kernel)->run(1000);
        EXPECT_EQ((*kernel)->parameters().at("order"), order);
    }
}

TEST(ChaseKernel, RefusesBadOptionsAndSizesWithAHint) {
    const struct {
        std::uint64_t size;
        std::map<std::string, std::string> options;
    } cases[] = {
        {100, {}},
        {64, {}},
        {65536, {{"chains", "0"}}},
        {65536, {{"chains", "13"}}},
        {65536, {{"chains", "x"}}},
        {65536, {{"order", "sorted"}}},
        {65536, {{"ordr", "random"}}},
        {128, {{"chains", "3"}}},
        {65536, {{"line", "48"}}},
        {65536, {{"line", "0"}}},
        {65536, {{"order", "page"}, {"page", "3K"}}},
        {65536, {{"refresh", "maybe"}}},
        {65536, {{"chains", "-1"}}},
    };
    for (const auto& wrong : cases) {
        const auto kernel = make(wrong.size, wrong.options);
        ASSERT_FALSE(kernel) << wrong.size;
        EXPECT_EQ(kernel.error().code, ErrorCode::bad_usage) << kernel.error().what;
        EXPECT_FALSE(kernel.error().hint.empty()) << kernel.error().what;
    }
}

TEST(ChaseKernel, IsRefusedBeyondTheMemoryWithoutTouchingIt) {
    const auto kernel = make(std::uint64_t{1} << 46);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, ErrorCode::unavailable);
    EXPECT_NE(kernel.error().hint.find("--size"), std::string::npos);
}

}  // namespace tmaprobe::kernels::chase
