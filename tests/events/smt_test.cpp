#include "events/smt.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "events/table.h"

namespace tmaprobe::events {
namespace {

TEST(SmtSharing, IsThatOfTheCore) {
    for (const char* folder : {"amdzen4", "cascadelakex", "graniterapids"}) {
        const auto sharing = read_smt_sharing({}, folder);
        ASSERT_TRUE(sharing) << sharing.error().what;
        ASSERT_TRUE(*sharing) << folder;
        const auto& halves = (*sharing)->partitioned;
        EXPECT_NE(std::ranges::find(halves, SmtStructure::reorder_buffer), halves.end()) << folder;
        for (const SmtStructure one : (*sharing)->shared)
            EXPECT_EQ(std::ranges::find(halves, one), halves.end()) << "both " << name_of(one);
    }
}

TEST(SmtSharing, IsNothingWithoutHyperthreads) {
    for (const char* folder : {"neoverse-v1", "sierraforest", "lunarlake"}) {
        const auto sharing = read_smt_sharing({}, folder);
        ASSERT_TRUE(sharing);
        EXPECT_FALSE(*sharing) << folder;
    }
}

}  // namespace
}  // namespace tmaprobe::events
