#include "counters/perf/latency_sampling.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "counters/perf/perf.h"

namespace tmaprobe::counters::perf {
namespace {

PlannedEvent software_clock(const std::string& name) {
    PlannedEvent event{name, {}, false};
    event.definition.pmu = "software";
    event.definition.config = PERF_COUNT_SW_TASK_CLOCK;
    return event;
}

PlannedEvent of_no_pmu() {
    PlannedEvent event{"NOBODY:R", {}, false};
    event.definition.pmu = "no_such_pmu";
    return event;
}

void work_for(double seconds) {
    timespec now{};
    const auto used = [&] {
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    for (const double end = used() + seconds; used() < end;) {
    }
}

class Sampling : public testing::Test {
  protected:
    void SetUp() override {
        if (software_error()) GTEST_SKIP() << "no software events here";
    }
};

TEST_F(Sampling, ANumberOfSamplesInASecondIsKept) {
    const SamplingRequest request{PERF_SAMPLE_IP | PERF_SAMPLE_TID, 500, 0};
    auto sampler = Sampler::open({software_clock("one"), of_no_pmu(), software_clock("other")}, {}, request);
    ASSERT_TRUE(sampler) << sampler.error().what;
    EXPECT_EQ(sampler->errors()[0], 0);
    EXPECT_NE(sampler->errors()[1], 0);
    EXPECT_EQ(sampler->errors()[2], 0);
    ASSERT_TRUE(sampler->enable());
    std::vector<int> seen(3);
    double stood_for_ns = 0;
    const auto take = [&](std::size_t event, const SampleRecord& sample) {
        ++seen[event];
        EXPECT_EQ(sample.thread, ::gettid());
        EXPECT_NE(sample.address, 0u);
        if (event == 0) stood_for_ns += static_cast<double>(sample.period);
    };
    for (int part = 0; part < 4; ++part) {
        work_for(0.1);
        sampler->drain(take);
    }
    ASSERT_TRUE(sampler->disable());
    sampler->drain(take);
    // Of one ring, told apart; 200 each, fewer where the machine's timer is slower.
    EXPECT_GT(seen[0], 20);
    EXPECT_LT(seen[0], 600);
    EXPECT_EQ(seen[1], 0);
    EXPECT_GT(seen[2], 20);
    EXPECT_GT(stood_for_ns, 0.2e9) << "samples stand for the time between them";
    EXPECT_LT(stood_for_ns, 0.8e9);
}

TEST_F(Sampling, ARingThatIsHalfFullWakes) {
    auto sampler = Sampler::open({software_clock("one")}, {}, {PERF_SAMPLE_IP | PERF_SAMPLE_TID, 20000, 0});
    ASSERT_TRUE(sampler);
    pollfd waits{sampler->descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, 0), 0);
    ASSERT_TRUE(sampler->enable());
    for (int part = 0; part < 50 && ::poll(&waits, 1, 0) == 0; ++part) work_for(0.05);
    EXPECT_EQ(waits.revents & POLLIN, POLLIN);
    ASSERT_TRUE(sampler->disable());
    sampler->drain([](std::size_t, const SampleRecord&) {});
}

TEST_F(Sampling, SamplesWithoutLatenciesAreNoLatency) {
    auto sampling = LatencySampling::open({software_clock("CLOCK:R"), of_no_pmu()}, {});
    ASSERT_TRUE(sampling.any());
    EXPECT_EQ(sampling.events(), 1u);
    sampling.enable();
    work_for(0.2);
    sampling.disable();
    const auto sampled = sampling.finish();
    ASSERT_EQ(sampled.size(), 2u);
    EXPECT_EQ(latency_of(sampled[0]).missing, record::NoLatency::always_zero);
    EXPECT_EQ(latency_of(sampled[1]).missing, record::NoLatency::not_precise);
    sampling.reset();
    EXPECT_EQ(latency_of(sampling.finish()[0]).missing, record::NoLatency::no_samples);
}

TEST_F(Sampling, WithWhatAProgramStartsEachCpuHasARing) {
    CountingTarget target;
    target.inherit = true;
    auto sampling = LatencySampling::open({software_clock("CLOCK:R")}, target);
    EXPECT_TRUE(sampling.any()) << "an event that is inherited cannot be mapped on any CPU";
}

TEST(LatencySampling, OfNoneOpensNothing) {
    auto sampling = LatencySampling::open({}, {});
    EXPECT_FALSE(sampling.any());
    EXPECT_EQ(sampling.descriptor(), -1);
    EXPECT_TRUE(sampling.finish().empty());
}

}  // namespace
}  // namespace tmaprobe::counters::perf
