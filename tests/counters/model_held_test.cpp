#include "counters/model/held.h"

#include <gtest/gtest.h>

namespace tmaprobe::counters::model {
namespace {

constexpr double hz = 2e9;

TEST(Held, TimeLessWhatTheInstructionsTakeByThemselvesWasAdded) {
    // 20 million instructions at 1 cycle each are 10 ms of the 400 ms for which they were held.
    const Added added = added_by({400e6, 0, 0, 0, 0, 1, 0}, 20'000'000, 1.0, hz);
    EXPECT_DOUBLE_EQ(added.ns, 390e6);
    EXPECT_LT(added.low_ns, added.ns);
    EXPECT_GT(added.high_ns, added.ns);
}

TEST(Held, TimeInSystemCallsIsTheCommandsOwn) {
    EXPECT_DOUBLE_EQ(added_by({1400e6, 1000e6, 0, 0, 0, 1, 0}, 0, 1.0, hz).ns, 400e6);
}

TEST(Held, WhatOthersDidMeanwhileMayHaveBeenWaitedFor) {
    const Added alone = added_by({400e6, 0, 0, 0, 0, 1, 0}, 0, 1.0, hz), beside = added_by({400e6, 0, 0, 0, 300e6, 1, 0}, 0, 1.0, hz);
    EXPECT_DOUBLE_EQ(alone.low_ns - beside.low_ns, 300e6);
    EXPECT_DOUBLE_EQ(alone.high_ns, beside.high_ns);
}

TEST(Held, WhatMayBeASystemCallOrASlowStopWidensTheBounds) {
    const Added sure = added_by({400e6, 0, 0, 0, 0, 1, 0}, 0, 1.0, hz), unsure = added_by({400e6, 0, 50e6, 0, 0, 1, 0}, 0, 1.0, hz);
    EXPECT_DOUBLE_EQ(sure.ns, unsure.ns);
    EXPECT_DOUBLE_EQ(sure.low_ns - unsure.low_ns, 50e6);
}

TEST(Held, WaitingForACpuMayBeTheCommandsOwn) {
    const Added busy = added_by({400e6, 0, 0, 0, 0, 1, 0}, 0, 1.0, hz), idle = added_by({400e6, 0, 0, 90e6, 0, 1, 0}, 0, 1.0, hz);
    EXPECT_DOUBLE_EQ(busy.ns, idle.ns);
    EXPECT_DOUBLE_EQ(busy.low_ns - idle.low_ns, 90e6);
}

TEST(Held, StopsBetweenTheWindowsCostAtMostSo) {
    const Added none = added_by({0, 0, 0, 0, 0, 0, 0}, 0, 1.0, hz), many = added_by({0, 0, 0, 0, 0, 0, 1000}, 0, 1.0, hz);
    EXPECT_EQ(none.ns, 0);
    EXPECT_EQ(many.low_ns, 0);
    EXPECT_GT(many.ns, 0);
    EXPECT_GT(many.high_ns, many.ns);
}

TEST(Held, NothingIsAddedByAShortLookAtManyInstructions) {
    const Added added = added_by({1e6, 0, 0, 0, 0, 1, 0}, 20'000'000, 1.0, hz);
    EXPECT_EQ(added.ns, 0);
    EXPECT_EQ(added.low_ns, 0);
}

}  // namespace
}  // namespace tmaprobe::counters::model
