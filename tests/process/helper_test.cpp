#include "process/helper.h"

#include <gtest/gtest.h>

namespace tmaprobe::process {
namespace {

TEST(GivesWay, RestsOnlyWhereOthersWantItsCpu) {
    EXPECT_EQ(rest_for(10'000'000, 0), 0u);
    EXPECT_EQ(rest_for(10'000'000, 900'000), 0u);
    // It ran for 6 ms of 10: a tenth of what it and the others had.
    EXPECT_EQ(rest_for(10'000'000, 4'000'000), 54'000'000u);
    // A figure that is older than the other, and work that took long.
    EXPECT_EQ(rest_for(10'000'000, 12'000'000), 0u);
    EXPECT_EQ(rest_for(2'000'000'000, 1'000'000'000), 1'000'000'000u);
}

TEST(GivesWay, DoesNotRestBeforeItHasWorked) {
    GivesWay gives_way;
    EXPECT_EQ(gives_way.rest_ns(), 0u);
}

}  // namespace
}  // namespace tmaprobe::process
