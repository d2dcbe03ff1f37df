#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "counters/perf/counter_set.h"
#include "counters/perf/latency_sampling.h"
#include "counters/perf/perf.h"
#include "fake_kernel.h"

namespace tmaprobe::counters::perf {
namespace {

using test::FakeCount;
using test::FakeKernel;

constexpr std::uint64_t first = 0x101, second = 0x102, third = 0x103;

/// Two groups, of two events and one, on a PMU type that always exists.
Plan plan() {
    const auto event = [](std::uint64_t config) {
        PlannedEvent planned{"event_" + std::to_string(config), {}, false};
        planned.definition.pmu = "software";
        planned.definition.config = config;
        return planned;
    };
    Plan made;
    made.passes.push_back({{{"software", {event(first), event(second)}}, {"software", {event(third)}}}});
    return made;
}

struct Region final : Workload {
    void run(std::uint64_t) override {}
};

struct Command final : Workload {
    std::vector<std::string> command() const override { return {"true"}; }
    void run(std::uint64_t) override {}
};

std::size_t open_files() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

Result<Sample> measure(Workload& workload, const Scope& scope) {
    auto source = TRY(make_source(scope));
    TRY((source)->prepare(plan()));
    return (source)->measure(workload, {0, 0, 1});
}

const Scope in_process{Scope::Kind::this_thread, 0, {}}, with_command{Scope::Kind::command, 0, {}};

/// Steady counters: each read shows 1000 more counts, all the time counted.
std::vector<FakeCount> steady() {
    std::vector<FakeCount> counts;
    for (std::uint64_t read = 0; read < 200; ++read) counts.push_back({read * 1000, read * 500, read * 500, 0, 24});
    return counts;
}

/// A region measured under a kernel with its faults scripted.
class RegionFaults : public testing::Test {
  protected:
    void measure_region() {
        Region region;
        auto measured = measure(region, in_process);
        ASSERT_TRUE(measured) << measured.error().what;
        sample = std::move(*measured);
    }
    const record::Event& event(std::uint64_t config) const {
        return *std::ranges::find(sample.events, "event_" + std::to_string(config), &record::Event::name);
    }
    bool warns(const std::string& id) const {
        return std::ranges::find(sample.warnings, id, &record::Warning::id) != sample.warnings.end();
    }
    void all_steady() {
        for (const auto config : {first, second, third}) kernel.script(config, steady());
    }

    FakeKernel kernel;
    Sample sample;
};

TEST_F(RegionFaults, NothingFailing) {
    all_steady();
    measure_region();
    for (const auto& counted : sample.events) {
        EXPECT_EQ(counted.reading.raw, 1000u);
        EXPECT_EQ(counted.note, record::Note::none);
    }
}

/// Every errno at every call, alone: never a crash, a leak, or a count that was not taken.
void every_errno_at_every_call(Workload& workload, const Scope& scope, const std::vector<std::string>& kinds) {
    for (const auto& kind : kinds) {
        FakeKernel counting;
        for (const auto config : {first, second, third}) counting.script(config, steady());
        (void)measure(workload, scope);
        const int calls = std::min(counting.calls(kind), 24);
        for (int nth = 0; nth < calls; ++nth)
            for (int error = 1; error <= 133; ++error) {
                if (scope.kind == Scope::Kind::command && error % 7 != 1 && error != EMFILE && error != EINTR) continue;
                SCOPED_TRACE(kind + " " + std::to_string(nth) + ": " + std::strerror(error));
                const std::size_t before = open_files();
                {
                    FakeKernel kernel;
                    for (const auto config : {first, second, third}) kernel.script(config, steady());
                    kernel.fail(kind, nth, error);
                    const auto sample = measure(workload, scope);
                    if (!sample) {
                        EXPECT_FALSE(sample.error().what.empty());
                    } else {
                        ASSERT_EQ(sample->events.size(), 3u);
                        for (const auto& counted : sample->events) {
                            const bool was_counted = counted.reading.time_running_ns > 0;
                            EXPECT_TRUE(was_counted || counted.note != record::Note::none) << counted.name;
                            if (was_counted) EXPECT_EQ(counted.reading.raw % 1000, 0u) << counted.name;
                        }
                    }
                }
                ASSERT_EQ(open_files(), before);
            }
    }
}

TEST(Faults, EveryErrnoAtEveryCallOfARegion) {
    Region region;
    every_errno_at_every_call(region, in_process, {"open", "ioctl", "read", "mmap"});
}

TEST(Faults, ErrnosAtEveryCallOfACommand) {
    Command command;
    every_errno_at_every_call(command, with_command,
                              {"open", "ioctl", "read", "fork", "pipe2", "socketpair", "signalfd"});
}

TEST(Faults, EveryErrnoAtEveryCallOfSampling) {
    const auto latencies = plan().passes[0].groups[0].events;
    for (const std::string kind : {"open", "ioctl", "mmap"})
        for (int nth = 0; nth < 6; ++nth)
            for (int error = 1; error <= 133; ++error) {
                SCOPED_TRACE(kind + " " + std::to_string(nth) + ": " + std::strerror(error));
                const std::size_t before = open_files();
                {
                    FakeKernel kernel;
                    kernel.fail(kind, nth, error);
                    auto sampling = LatencySampling::open(latencies, {});
                    sampling.enable();
                    sampling.disable();
                    const auto sampled = sampling.finish();
                    ASSERT_EQ(sampled.size(), latencies.size());
                    // The fake's rings are empty: nothing may look as if it had been sampled.
                    for (const auto& one : sampled) EXPECT_NE(latency_of(one).missing, record::NoLatency::none);
                }
                ASSERT_EQ(open_files(), before);
            }
}

TEST(Faults, WhySamplesAreRefusedIsTold) {
    const auto missing = [](int error) {
        FakeKernel kernel;
        kernel.fail_config(first, error);
        return LatencySampling::open(plan().passes[0].groups[0].events, {}).finish().front().missing;
    };
    using enum record::NoLatency;
    EXPECT_EQ(missing(EOPNOTSUPP), not_precise);
    EXPECT_EQ(missing(EINVAL), not_precise);
    EXPECT_EQ(missing(EACCES), no_permission);
    EXPECT_EQ(missing(EPERM), no_permission);
    EXPECT_EQ(missing(EMFILE), no_room);
}

TEST(Faults, ClosesEarlierEventsWhenALaterOpenFails) {
    const std::size_t before = open_files();
    FakeKernel kernel;
    kernel.fail("open", 2, EMFILE);
    const auto set = CounterSet::open(plan().passes[0].groups, {});
    ASSERT_FALSE(set);
    EXPECT_NE(set.error().what.find("file descriptors"), std::string::npos) << set.error().what;
    EXPECT_NE(set.error().hint.find("--nofile="), std::string::npos) << set.error().hint;
    EXPECT_EQ(open_files(), before);
}

TEST(Faults, DescriptorsAreClosedOnExec) {
    FakeKernel kernel;
    const auto set = CounterSet::open(plan().passes[0].groups, {});
    ASSERT_TRUE(set);
    int seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone).string().find("[perf_event]") == std::string::npos)
            continue;
        ++seen;
        EXPECT_TRUE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC);
    }
    EXPECT_EQ(seen, 3);
}

TEST_F(RegionFaults, UnknownEventIsNamedWhileItsGroupCounts) {
    kernel.fail_config(first, ENOENT);  // the leader
    kernel.script(second, steady());
    measure_region();
    EXPECT_EQ(event(first).note, record::Note::not_supported);
    EXPECT_EQ(event(second).reading.raw, 1000u);
}

TEST_F(RegionFaults, OversizedGroupIsSplitAndStillCounts) {
    kernel.largest_group = 1;
    all_steady();
    measure_region();
    for (const auto& counted : sample.events) EXPECT_EQ(counted.reading.raw, 1000u) << counted.name;
}

TEST(Faults, AHostThatLendsItsCountersIsCountedWithoutItsGuests) {
    FakeKernel kernel;
    kernel.lends_counters = true;
    auto groups = plan().passes[0].groups;
    for (auto& group : groups)
        for (auto& event : group.events) event.definition.pmu = "hardware";
    const auto set = CounterSet::open(groups, {});
    ASSERT_TRUE(set);
    for (const auto& opened : set->opened()) {
        EXPECT_EQ(opened.error, 0);
        EXPECT_TRUE(opened.without_guests);
    }
}

TEST_F(RegionFaults, EndOfFileIsNotCounted) {
    kernel.script(second, {{0, 0, 0, 0, 0}});
    measure_region();
    EXPECT_EQ(event(second).note, record::Note::not_counted);
    EXPECT_EQ(event(second).reading.time_running_ns, 0u);
    EXPECT_TRUE(warns("not_counted"));
}

TEST_F(RegionFaults, ShortReadsAreReadOn) {
    auto counts = steady();
    for (auto& count : counts) count.bytes = 8;
    kernel.script(second, counts);
    measure_region();
    EXPECT_EQ(event(second).reading.raw, 1000u);
}

/// The 20 pairs of reads that find the overhead and the one before the region, then the one after it.
std::vector<FakeCount> ending_with(const FakeCount& before, const FakeCount& after) {
    std::vector<FakeCount> counts(41, before);
    counts.push_back(after);
    return counts;
}

TEST_F(RegionFaults, ShareBelowOneIsScaledAndBounded) {
    kernel.script(first, ending_with({0, 0, 0, 0, 24}, {1000, 400, 100, 0, 24}));
    measure_region();
    const auto& counted = event(first);
    EXPECT_EQ(counted.reading.raw, 1000u);
    EXPECT_DOUBLE_EQ(counted.reading.value, 4000);
    ASSERT_TRUE(counted.low && counted.high);
    EXPECT_LT(*counted.low, 4000);
    EXPECT_GE(*counted.low, 1000);
    EXPECT_GT(*counted.high, 4000);
    EXPECT_TRUE(warns("multiplexed_against_plan"));
}

TEST_F(RegionFaults, NeverRunningIsNotCounted) {
    kernel.script(first, ending_with({0, 0, 0, 0, 24}, {0, 400, 0, 0, 24}));
    measure_region();
    EXPECT_EQ(event(first).note, record::Note::not_counted);
}

TEST_F(RegionFaults, WrapAt48Bits) {
    kernel.script(first, ending_with({(std::uint64_t{1} << 48) - 1, 10, 10, 0, 24}, {99, 20, 20, 0, 24}));
    measure_region();
    EXPECT_EQ(event(first).reading.raw, 100u);
    EXPECT_EQ(event(first).note, record::Note::wrapped);
}

TEST_F(RegionFaults, TimeGoingBackwardsIsFlagged) {
    kernel.script(first, ending_with({10, 100, 100, 0, 24}, {20, 90, 90, 0, 24}));
    measure_region();
    EXPECT_EQ(event(first).note, record::Note::time_went_backwards);
    EXPECT_EQ(event(first).reading.time_running_ns, 0u);
    EXPECT_TRUE(warns("unreliable_count"));
}

TEST(Faults, AllRefusedNamesTheCause) {
    for (const auto& [error, word] : std::vector<std::pair<int, const char*>>{{ENOSYS, "perf_event_open"},
                                                                              {EMFILE, "file descriptors"},
                                                                              {ENFILE, "file descriptors"},
                                                                              {ENOMEM, "memory"}}) {
        FakeKernel kernel;
        for (const auto config : {first, second, third}) kernel.fail_config(config, error);
        Region region;
        const auto sample = measure(region, in_process);
        ASSERT_FALSE(sample) << word;
        EXPECT_NE(sample.error().what.find(word), std::string::npos) << sample.error().what;
        EXPECT_FALSE(sample.error().hint.empty());
    }
}

}  // namespace
}  // namespace tmaprobe::counters::perf
