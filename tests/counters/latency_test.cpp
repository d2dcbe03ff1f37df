#include "counters/latency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tmaprobe::counters {
namespace {

SampledLatency of(const LatencySums& sums) {
    SampledLatency sampled;
    sampled.event.name = "LOADS:R";
    sampled.sums = sums;
    return sampled;
}

LatencySums alike(double cycles, int samples) {
    LatencySums sums;
    for (int i = 0; i < samples; ++i) sums.add(cycles, 1000);
    return sums;
}

TEST(LatencySums, TheMeanOfAlikeSamplesIsExact) {
    const LatencySums sums = alike(48, 500);
    EXPECT_EQ(sums.mean(), 48);
    EXPECT_EQ(sums.half_interval(), 0);
    EXPECT_EQ(sums.samples(), 500u);
    EXPECT_NEAR(sums.effective_samples(), 500, 1e-9);
}

TEST(LatencySums, ASampleWeighsAsManyEventsAsItStandsFor) {
    LatencySums sums;
    sums.add(10, 3000);
    sums.add(50, 1000);
    EXPECT_DOUBLE_EQ(sums.mean(), 20);
    EXPECT_DOUBLE_EQ(sums.effective_samples(), 1.6);  // 4000^2 / (3000^2 + 1000^2)
    sums.add(7, 0);                                   // of a period that the kernel did not give: of one event
    EXPECT_NEAR(sums.mean(), (3000 * 10 + 1000 * 50 + 7) / 4001.0, 1e-12);
}

TEST(LatencySums, TheIntervalIsStudents) {
    // 4, 6, 4, 6, ...: standard deviation of ten samples sqrt(10/9); t for nine degrees of freedom 2.262.
    LatencySums sums;
    for (int i = 0; i < 10; ++i) sums.add(i % 2 ? 6 : 4, 1);
    EXPECT_DOUBLE_EQ(sums.mean(), 5);
    EXPECT_NEAR(sums.half_interval(), 2.262 * std::sqrt(10.0 / 9) / std::sqrt(10.0), 0.005);
    LatencySums one;
    one.add(4, 1);
    EXPECT_EQ(one.half_interval(), 0) << "nothing is known of one sample's spread";
}

TEST(LatencySums, TheIntervalHoldsTheMeanAsOftenAsItSays) {
    std::mt19937 random(1);
    std::exponential_distribution<double> wait(1.0 / 60);
    std::uniform_int_distribution<int> period(500, 1500);
    int held = 0;
    constexpr int trials = 2000;
    for (int trial = 0; trial < trials; ++trial) {
        LatencySums sums;
        for (int i = 0; i < 100; ++i) sums.add(wait(random), period(random));
        held += std::fabs(sums.mean() - 60) <= sums.half_interval();
    }
    EXPECT_NEAR(static_cast<double>(held) / trials, 0.95, 0.02);
}

TEST(LatencySums, PartsAddUpToTheWhole) {
    LatencySums whole, first, second;
    for (int i = 0; i < 100; ++i) {
        whole.add(i * i % 37, 100 + i);
        (i < 30 ? first : second).add(i * i % 37, 100 + i);
    }
    first.add(second);
    first.add(LatencySums{});
    EXPECT_EQ(first.samples(), whole.samples());
    EXPECT_NEAR(first.mean(), whole.mean(), 1e-9);
    EXPECT_NEAR(first.half_interval(), whole.half_interval(), 1e-9);
    EXPECT_NEAR(first.effective_samples(), whole.effective_samples(), 1e-9);
}

TEST(SampledLatency, OfEnoughSamplesIsAMeanWithBounds) {
    LatencySums sums;
    for (int i = 0; i < 400; ++i) sums.add(i % 2 ? 50 : 46, 1000);
    auto sampled = of(sums);
    sampled.lost = 3;
    const auto latency = latency_of(sampled);
    EXPECT_EQ(latency.event, "LOADS:R");
    EXPECT_EQ(latency.pmu, "cpu");
    EXPECT_EQ(latency.missing, record::NoLatency::none);
    EXPECT_EQ(latency.samples, 400u);
    EXPECT_EQ(latency.lost, 3u);
    EXPECT_NEAR(latency.mean, 48, 1e-9);
    EXPECT_NEAR(latency.high - latency.low, 2 * 1.966 * 2 / 20, 0.005);
}

TEST(SampledLatency, SaysWhyThereIsNone) {
    using enum record::NoLatency;
    EXPECT_EQ(latency_of(of({})).missing, no_samples);
    EXPECT_EQ(latency_of(of(alike(0, 500))).missing, always_zero);
    EXPECT_EQ(latency_of(of(alike(48, 9))).missing, too_few_samples);
    EXPECT_EQ(latency_of(of(alike(48, 10))).missing, none);
    auto refused = of({});
    refused.missing = no_permission;
    EXPECT_EQ(latency_of(refused).missing, no_permission);
    LatencySums lopsided = alike(48, 100);
    lopsided.add(4000, 1e9);  // one sample that stands for nearly everything
    EXPECT_EQ(latency_of(of(lopsided)).missing, too_few_samples);
}

TEST(SampledLatency, RunsAreAddedByEvent) {
    auto other = of(alike(10, 20));
    other.event.name = "STORES:R";
    std::vector<SampledLatency> all;
    add_latencies({of(alike(40, 20)), other}, all);
    add_latencies({of(alike(60, 20))}, all);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_NEAR(all[0].sums.mean(), 50, 1e-9);
    EXPECT_EQ(all[1].sums.samples(), 20u);
}

TEST(SampledLatency, WhatOneRunCouldNotSampleAnotherHas) {
    auto refused = of({});
    refused.missing = record::NoLatency::no_room;
    std::vector<SampledLatency> all;
    add_latencies({refused}, all);
    add_latencies({of(alike(40, 20))}, all);
    EXPECT_EQ(latency_of(all[0]).missing, record::NoLatency::none);
    add_latencies({refused}, all);
    EXPECT_EQ(latency_of(all[0]).missing, record::NoLatency::none);
}

}  // namespace
}  // namespace tmaprobe::counters
