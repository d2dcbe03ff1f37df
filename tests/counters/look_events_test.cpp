#include "counters/perf/look_events.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "counters/perf/perf.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr pid_t nobody = 0x7ffffff0;

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

void spend_looked_at(double seconds) {
    timespec now{};
    const auto used = [&] {
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    volatile unsigned work = 0;
    for (const double end = used() + seconds; used() < end;)
        for (unsigned turn = 0; turn < 100'000; ++turn) work = work + turn;
}

std::size_t looks_in(LookEvent& event) {
    RingRecords records;
    event.ring.drain(PERF_SAMPLE_IP, records);
    return records.samples.size();
}

TEST(LookEvents, TheTimerLooksOnceInAMillisecondAndLessWhenTold) {
    if (software_error()) GTEST_SKIP() << "no software events here";
    LookEvents opener;
    auto events = opener.open(this_thread(), LooksBy::time);
    ASSERT_TRUE(events) << events.error().what;
    ASSERT_EQ(events->size(), 1u);
    LookEvent& event = events->front();
    EXPECT_EQ(event.every, 1'000'000u);
    EXPECT_EQ(opener.precision(), 0u);
    spend_looked_at(0.2);
    const std::size_t often = looks_in(event);
    EXPECT_GT(often, 20u);
    EXPECT_LT(often, 400u);
    event.look_less();
    event.look_less();
    EXPECT_EQ(event.counts, 4u);
    (void)looks_in(event);
    spend_looked_at(0.2);
    EXPECT_LT(looks_in(event), often);
}

TEST(LookEvents, AnEventThatWasThereForLongAndSawNothingIsOfNoUse) {
    if (software_error()) GTEST_SKIP() << "no software events here";
    LookEvents opener;
    auto events = opener.open(this_thread(), LooksBy::time);
    ASSERT_TRUE(events);
    EXPECT_FALSE(events->front().is_of_no_use()) << "it has only just come";
    spend_looked_at(0.1);
    EXPECT_TRUE(events->front().is_of_no_use()) << "it has counted some 100 periods, and no look was reported";
    events->front().sum = 1;
    EXPECT_FALSE(events->front().is_of_no_use());
}

/// With or without counters here.
TEST(LookEvents, CyclesAreOfAllKindsOfCoresOrOfNone) {
    LookEvents opener;
    auto events = opener.open(this_thread(), LooksBy::cycles);
    if (!events) {
        EXPECT_NE(opener.error(), 0);
        GTEST_SKIP() << "no cycles can be sampled here: " << events.error().what;
    }
    EXPECT_FALSE(events->empty());
    EXPECT_LE(opener.precision(), 3u);
    spend_looked_at(0.2);
    std::size_t looks = 0;
    for (LookEvent& event : *events) looks += looks_in(event);
    EXPECT_LT(looks, 600u);
    EXPECT_TRUE(looks > 5 || std::ranges::all_of(*events, &LookEvent::is_of_no_use));
}

TEST(LookEvents, OfNobodyThereIsNone) {
    LookEvents opener;
    for (const LooksBy by : {LooksBy::time, LooksBy::cycles}) {
        EXPECT_FALSE(opener.open(nobody, by));
        EXPECT_NE(opener.error(), 0);
    }
}

TEST(LookEvents, LooksAreAboutAMillisecondApart) {
    EXPECT_EQ(LookEvents::period(LooksBy::time, 1), 1'000'000u);
    EXPECT_EQ(LookEvents::period(LooksBy::time, 4), 4'000'000u);
    for (const std::uint64_t counts : {1u, 2u, 4u}) {
        const auto cycles = static_cast<double>(LookEvents::period(LooksBy::cycles, counts));
        EXPECT_EQ(LookEvents::period(LooksBy::cycles, counts) % 2, 1u) << "else it keeps step with many loops";
        EXPECT_NEAR(cycles / static_cast<double>(counts), 4e6, 100) << "a look counts as many as it stands for";
    }
}

}  // namespace
}  // namespace tmaprobe::counters::perf
