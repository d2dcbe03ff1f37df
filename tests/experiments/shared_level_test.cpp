#include "experiments/shared_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/host.h"

namespace tmaprobe::experiments {
namespace {

constexpr std::uint64_t megabyte = 1 << 20;

SharedLevelRequest request() {
    return {1 * megabyte, 8 * megabyte, 2 * megabyte, *memory::parse_page_mode("4k"), 3, {}};
}

TEST(SharedLevel, WhatIsFoundLiesBetweenWhatWasHeldAndWhatWasNot) {
    // Whatever else this machine does, and whether or not it has such a level.
    const auto found = measure_shared_level(request(), machine::detect());
    ASSERT_TRUE(found) << found.error().what;
    if (!*found) return;
    EXPECT_LE((*found)->held_low, (*found)->held);
    EXPECT_LE((*found)->held, (*found)->held_high);
    EXPECT_GE((*found)->held_low, 2 * megabyte);
    EXPECT_THAT((*found)->others_fill_ns, testing::Each(testing::AllOf(testing::Ge(0.25e6), testing::Le(64e6))));
    EXPECT_FALSE((*found)->others_fill_ns.empty());
    EXPECT_GT((*found)->beyond_ns, 0);
}

TEST(SharedLevel, MayBeInterrupted) {
    SharedLevelRequest interrupted = request();
    interrupted.interrupted = [] { return true; };
    const auto found = measure_shared_level(interrupted, machine::detect());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::interrupted);
}

}  // namespace
}  // namespace tmaprobe::experiments
