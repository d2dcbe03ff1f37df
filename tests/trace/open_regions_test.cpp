#include "trace/open_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tmaprobe::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What a mark stores, as far as it says what is open.
struct Store {
    enum class What { depth, region, begins, ends } what;
    std::uint64_t value = 0;  ///< the new depth, or the region
};
using enum Store::What;

constexpr std::uint32_t left_over = 77;  ///< what a place in the memory had from before

/// The thread's own account, as a look at its memory has it.
struct Memory {
    std::vector<std::uint32_t> places = std::vector<std::uint32_t>(8, left_over);
    std::uint64_t depth = 0;

    void carry_out(const Store& store) {
        if (store.what == Store::What::depth) depth = store.value;
        if (store.what == region) places[depth - 1] = static_cast<std::uint32_t>(store.value);
    }
    std::vector<std::uint32_t> open() const {
        return {places.begin(), places.begin() + static_cast<std::ptrdiff_t>(depth)};
    }
};

void follow_stores(OpenRegions& regions, const Store& store) {
    if (store.what == depth) regions.depth_stored();
    if (store.what == begins) regions.begin_stored(static_cast<std::uint32_t>(store.value), 0);
    if (store.what == ends) regions.end_stored(static_cast<std::uint32_t>(store.value));
}

/// After marks that were looked at in the middle of the first of them, wherever that was.
void expect_wherever_looked_at(const std::vector<std::uint32_t>& open_before,
                               const std::vector<std::vector<Store>>& marks,
                               const std::vector<std::uint32_t>& open_after) {
    for (std::size_t seen_first = 0; seen_first <= marks.front().size(); ++seen_first) {
        SCOPED_TRACE(seen_first);
        Memory memory;
        memory.depth = open_before.size();
        std::ranges::copy(open_before, memory.places.begin());
        for (std::size_t i = 0; i < seen_first; ++i) memory.carry_out(marks.front()[i]);
        OpenRegions regions;
        regions.look(memory.open(), true);
        for (std::size_t i = seen_first; i < marks.front().size(); ++i) follow_stores(regions, marks.front()[i]);
        regions.mark_left();
        for (std::size_t i = 1; i < marks.size(); ++i) {
            for (const Store& store : marks[i]) follow_stores(regions, store);
            regions.mark_left();
        }
        EXPECT_EQ(regions.regions(), open_after);
    }
}

TEST(OpenRegions, ABeginIsOnceWhereverItWasLookedAt) {
    expect_wherever_looked_at({}, {{{depth, 1}, {region, 4}, {begins, 4}}}, {4});
    expect_wherever_looked_at({2}, {{{depth, 2}, {region, 4}, {begins, 4}}}, {2, 4});
}

TEST(OpenRegions, AnEndIsAnEndWhereverItWasLookedAt) {
    expect_wherever_looked_at({4}, {{{ends, 4}, {depth, 0}}}, {});
    expect_wherever_looked_at({2, 4}, {{{ends, 4}, {depth, 1}}}, {2});
}

TEST(OpenRegions, AnEndOfWhatIsAroundEndsWhatIsInside) {
    expect_wherever_looked_at({2, 4, 6}, {{{ends, 6}, {depth, 2}, {ends, 4}, {depth, 1}}}, {2});
}

TEST(OpenRegions, MarksAfterItAreCountedAsTheyAre) {
    expect_wherever_looked_at({}, {{{depth, 1}, {region, 4}, {begins, 4}}, {{ends, 4}, {depth, 0}}}, {});
    expect_wherever_looked_at(
        {4}, {{{ends, 4}, {depth, 0}}, {{depth, 1}, {region, 5}, {begins, 5}}, {{depth, 2}, {region, 5}, {begins, 5}}},
        {5, 5});
}

TEST(OpenRegions, WhatWasBegunUnseenIsNotSeen) {
    OpenRegions regions;
    regions.look({3}, false);
    regions.enter(4, true, 100);
    const auto seen = regions.leave(4), unseen = regions.leave(3);
    ASSERT_TRUE(seen && unseen);
    EXPECT_TRUE(seen->seen);
    EXPECT_EQ(seen->begun, 100u);
    EXPECT_FALSE(unseen->seen);
    EXPECT_FALSE(regions.leave(3));
    EXPECT_THAT(regions.regions(), IsEmpty());
}

TEST(OpenRegions, TheInnermostOfANameIsLeft) {
    OpenRegions regions;
    regions.look({3, 5, 3, 6}, false);
    regions.leave(3);
    EXPECT_THAT(regions.regions(), ElementsAre(3, 5, 6));
}

}  // namespace
}  // namespace tmaprobe::trace
