#include "counters/perf/reading.h"

#include <gtest/gtest.h>

namespace tmaprobe::counters::perf {
namespace {

constexpr auto stopped = Bracketing::started_and_stopped;
constexpr auto twice = Bracketing::read_twice;
constexpr std::uint64_t range = std::uint64_t{1} << 48;

RawCount count(std::uint64_t value, std::uint64_t enabled, std::uint64_t running) {
    return {value, enabled, running, 0, false};
}

Judged whole(const Judged& judged, bool extrapolate = true) {
    return combine(std::vector<Judged>{judged}, extrapolate);
}

TEST(Judge, DifferenceOfTwoReads) {
    const auto judged = judge(count(100, 10, 10), count(350, 60, 60), stopped, 0);
    EXPECT_EQ(judged.reading.raw, 250u);
    EXPECT_EQ(judged.reading.time_enabled_ns, 50u);
    EXPECT_EQ(judged.reading.time_running_ns, 50u);
    EXPECT_EQ(judged.note, record::Note::none);
}

TEST(Judge, NeverRunningIsNotCountedAndNotZero) {
    EXPECT_EQ(judge({}, count(0, 1000, 0), stopped, 0).note, record::Note::not_counted);
    EXPECT_EQ(judge({}, {0, 0, 0, 0, true}, stopped, 0).note, record::Note::not_counted);
    EXPECT_EQ(whole(judge({}, count(0, 1000, 0), stopped, 0)).note, record::Note::not_counted);
}

TEST(Judge, ZeroThatWasCountedIsZero) {
    const auto sum = whole(judge({}, count(0, 1000, 1000), stopped, 0));
    EXPECT_EQ(sum.note, record::Note::none);
    EXPECT_EQ(sum.reading.value, 0);
    EXPECT_EQ(sum.reading.time_running_ns, 1000u);
}

TEST(Judge, CounterLostDuringARegionIsAShareOfTheRegion) {
    // On its counter for 30 ms when the region begins, whose page still shows the time when it came there; it has it
    // for another 3 ms, and the region goes on for 3 ms more.
    constexpr std::uint64_t ms = 1'000'000;
    const auto judged = judge(count(1000, 0, 0), count(1300, 36 * ms, 33 * ms), twice, 6 * ms, 30 * ms);
    EXPECT_EQ(judged.reading.raw, 300u);
    EXPECT_EQ(judged.reading.time_enabled_ns, 6 * ms);
    EXPECT_EQ(judged.reading.time_running_ns, 3 * ms);
    EXPECT_DOUBLE_EQ(whole(judged).reading.value, 600);
}

TEST(Judge, ReadErrorIsNoCount) {
    for (const int error : {EIO, ENOSPC, EINTR}) {
        EXPECT_EQ(whole(judge({}, {5, 5, 5, error, false}, stopped, 0)).note, record::Note::read_failed);
        EXPECT_EQ(whole(judge({5, 5, 5, error, false}, count(9, 9, 9), stopped, 0)).reading.time_running_ns, 0u);
    }
}

TEST(Judge, WrapAt48BitsIsFollowed) {
    const auto judged = judge(count(range - 10, 1, 1), count(5, 9, 9), stopped, 0);
    EXPECT_EQ(judged.reading.raw, 15u);
    EXPECT_EQ(judged.note, record::Note::wrapped);
    EXPECT_EQ(whole(judged).reading.value, 15);
}

TEST(Judge, CountGoingBackwardsIsNoCount) {
    EXPECT_EQ(judge(count(1000, 1, 1), count(900, 9, 9), stopped, 0).note, record::Note::went_backwards);
    EXPECT_EQ(whole(judge(count(range + 5, 1, 1), count(3, 9, 9), stopped, 0)).reading.time_running_ns, 0u);
}

TEST(Judge, TimeGoingBackwardsIsNoCount) {
    EXPECT_EQ(judge(count(1, 50, 10), count(9, 40, 20), stopped, 0).note, record::Note::time_went_backwards);
    EXPECT_EQ(judge(count(1, 50, 30), count(9, 60, 20), stopped, 0).note, record::Note::time_went_backwards);
}

TEST(Judge, MoreRunningThanEnabledIsFlaggedAndNotScaled) {
    const auto sum = whole(judge({}, count(100, 1000, 1100), stopped, 0));
    EXPECT_EQ(sum.note, record::Note::ran_longer_than_enabled);
    EXPECT_EQ(sum.reading.value, 100);
    EXPECT_EQ(whole(judge({}, count(100, 1000000, 1000100), stopped, 0)).note, record::Note::none);  // clock skew
}

TEST(Judge, UserSpaceReadsTakeTheRegionsTime) {
    // The page shows the times of the last switch onto the counter: equal, so it has counted ever since.
    const auto judged = judge(count(100, 500, 500), count(900, 500, 500), twice, 4000);
    EXPECT_EQ(judged.reading.time_enabled_ns, 4000u);
    EXPECT_EQ(judged.reading.time_running_ns, 4000u);
    EXPECT_EQ(judged.reading.raw, 800u);
    EXPECT_EQ(judge(count(100, 500, 400), count(900, 700, 500), twice, 4000).reading.time_running_ns, 100u);
}

TEST(Combine, ScalesByEnabledOverRunning) {
    EXPECT_DOUBLE_EQ(whole(judge({}, count(100, 1000, 250), stopped, 0)).reading.value, 400);
    EXPECT_DOUBLE_EQ(whole(judge({}, count(100, 1000, 250), stopped, 0), false).reading.value, 100);
}

TEST(Combine, ScalesCountsThatDoNotFitADoublesIntegers) {
    const std::uint64_t large = std::uint64_t{1} << 62;
    const auto sum = whole(judge({}, count(large, 4000, 1000), stopped, 0));
    EXPECT_NEAR(sum.reading.value / static_cast<double>(large), 4, 1e-12);
    EXPECT_EQ(sum.reading.raw, large);
}

TEST(Combine, AddsThreadsAndIgnoresThoseThatNeverRan) {
    const std::vector<Judged> instances = {judge({}, count(10, 100, 100), stopped, 0),
                                           judge({}, count(0, 0, 0), stopped, 0),
                                           judge({}, count(30, 100, 100), stopped, 0)};
    const auto sum = combine(instances, true);
    EXPECT_EQ(sum.reading.value, 40);
    EXPECT_EQ(sum.note, record::Note::none);
}

TEST(Combine, SaysWhenAPartWasNeverCounted) {
    const std::vector<Judged> instances = {judge({}, count(10, 100, 100), stopped, 0),
                                           judge({}, count(0, 100, 0), stopped, 0)};
    const auto sum = combine(instances, true);
    EXPECT_EQ(sum.note, record::Note::partly_counted);
    EXPECT_DOUBLE_EQ(sum.reading.value, 20);  // as if the other had counted at the same rate, with a share of one half
}

TEST(Combine, OneLostPartLosesTheSum) {
    const std::vector<Judged> instances = {judge({}, count(10, 100, 100), stopped, 0),
                                           judge({}, {0, 0, 0, EIO, false}, stopped, 0)};
    const auto sum = combine(instances, true);
    EXPECT_EQ(sum.note, record::Note::read_failed);
    EXPECT_EQ(sum.reading.time_running_ns, 0u);
    EXPECT_EQ(sum.reading.raw, 0u);
}

TEST(Combine, NothingIsNotCounted) { EXPECT_EQ(combine({}, true).note, record::Note::not_counted); }

}  // namespace
}  // namespace tmaprobe::counters::perf
