#include "experiments/variant_trial.h"

#include <gtest/gtest.h>

#include <sched.h>

namespace tmaprobe::experiments {
namespace {

std::vector<double> about(double ns) {
    std::vector<double> times;
    for (int index = 0; index < 16; ++index) times.push_back(ns * (1 + 0.004 * (index % 5)));
    return times;
}

TEST(VariantTrial, TakesTheFastest) {
    EXPECT_EQ(fastest_variant({{"avx512", about(110)}, {"avx2", about(104)}, {"sse2", about(100)}}), "sse2");
    EXPECT_EQ(fastest_variant({{"avx512", about(100)}, {"avx2", about(104)}}), "avx512");
}

TEST(VariantTrial, KeepsTheUsualOneWithinTheNoise) {
    EXPECT_EQ(fastest_variant({{"avx512", about(100)}, {"avx2", about(99)}}), "avx512");
    EXPECT_EQ(fastest_variant({{"avx512", {100, 140, 90}}, {"avx2", {80, 150, 95}}}), "avx512");
    EXPECT_EQ(fastest_variant({}), "");
}

machine::Host with_l3(std::uint64_t bytes, int shared_by) {
    machine::Host host = machine::detect();
    host.memory_vector_bytes = 0;
    machine::Cache l3;
    l3.level = 3;
    l3.kind = "unified";
    l3.size_bytes = bytes;
    l3.shared_by = shared_by;
    host.caches = {l3};
    return host;
}

TEST(VariantTrial, IsForBlocksBeyondTheOwnShareOfTheLastLevel) {
    EXPECT_TRUE(beyond_last_level(with_l3(32 << 20, 8), 5 << 20, 1));
    EXPECT_FALSE(beyond_last_level(with_l3(32 << 20, 8), 4 << 20, 1));
    EXPECT_FALSE(beyond_last_level(with_l3(32 << 20, 8), 8 << 20, 2));
    EXPECT_FALSE(beyond_last_level(machine::Host{}, 1 << 30, 1));
}

KernelRun stream_of(std::uint64_t size, const experiments::Setup& setup) {
    KernelRun point;
    point.kernel = *kernels::find("stream");
    point.parameters.size_bytes = size;
    point.variant = *kernels::choose_variant(*point.kernel, "", setup.host, point.parameters);
    return point;
}

TEST(VariantTrial, OfStreamSaysItsFigures) {
    experiments::Setup setup;
    setup.host = with_l3(1 << 20, 1);
    KernelRun point = stream_of(16 << 20, setup);
    if (kernels::runnable_variants(*point.kernel, setup.host).size() < 3)
        GTEST_SKIP() << "this CPU has one width of vectors";
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    ASSERT_TRUE(choose_by_trial({}, setup, point));
    sched_getaffinity(0, sizeof after, &after);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
    ASSERT_TRUE(point.variant_trial);
    EXPECT_EQ(point.variant_trial->chosen, point.variant.name);
    EXPECT_EQ(point.variant_trial->size_bytes, 16U << 20);
    EXPECT_GE(point.variant_trial->variants.size(), 2U);
    for (const auto& variant : point.variant_trial->variants) {
        EXPECT_GT(variant.bytes_per_second, 1e8);
        EXPECT_GE(variant.slices, 3U);
        EXPECT_NE(variant.variant, "scalar");
    }
}

TEST(VariantTrial, IsNotMadeWhereSomethingElseDecides) {
    experiments::Setup setup;
    setup.host = with_l3(1 << 20, 1);
    WorkloadRequest named;
    named.variant = "scalar";
    KernelRun point = stream_of(16 << 20, setup);
    ASSERT_TRUE(choose_by_trial(named, setup, point));
    EXPECT_FALSE(point.variant_trial);
    KernelRun small = stream_of(256 << 10, setup);
    ASSERT_TRUE(choose_by_trial({}, setup, small));
    EXPECT_FALSE(small.variant_trial);
    setup.host.memory_vector_bytes = 16;
    KernelRun by_table = stream_of(16 << 20, setup);
    ASSERT_TRUE(choose_by_trial({}, setup, by_table));
    EXPECT_FALSE(by_table.variant_trial);
}

}  // namespace
}  // namespace tmaprobe::experiments
