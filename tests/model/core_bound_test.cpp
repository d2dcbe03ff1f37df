#include <gmock/gmock.h>

#include "kernels/kernel.h"
#include "tests/model/fixture.h"

namespace tmaprobe::model {
namespace {

#if defined(__x86_64__)

#include <immintrin.h>

/// One SHA-256 block after another with the SHA extensions, as a compressor does it: without a sanitizer's
/// checks, which would be most of what runs.
__attribute__((target("sha,sse4.1,ssse3"), no_sanitize("address"), no_sanitize("undefined"))) void sha256_blocks(
    std::uint64_t blocks) {
    alignas(16) static std::uint32_t keys[64];
    alignas(16) static std::uint8_t data[64];
    __m128i first = _mm_set1_epi32(1), second = _mm_set1_epi32(2);
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    for (std::uint64_t block = 0; block < blocks; ++block) {
        // Each block is news to the compiler, or it would work out the schedule once for all.
        asm volatile("" ::"r"(keys), "r"(data) : "memory");
        __m128i w[4];
        for (int i = 0; i < 4; ++i)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data + 16 * i)), swap);
        const __m128i save_first = first, save_second = second;
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            const __m128i keyed =
                _mm_add_epi32(w[i & 3], _mm_load_si128(reinterpret_cast<const __m128i*>(keys + 4 * i)));
            second = _mm_sha256rnds2_epu32(second, first, keyed);
            if (i >= 3 && i < 15) {
                const __m128i middle = _mm_alignr_epi8(w[i & 3], w[(i + 3) & 3], 4);
                w[(i + 1) & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(w[(i + 1) & 3], middle), w[i & 3]);
            }
            first = _mm_sha256rnds2_epu32(first, second, _mm_shuffle_epi32(keyed, 0x0e));
            if (i >= 1 && i < 13) w[(i + 3) & 3] = _mm_sha256msg1_epu32(w[(i + 3) & 3], w[i & 3]);
        }
        first = _mm_add_epi32(first, save_first);
        second = _mm_add_epi32(second, save_second);
    }
    // Keeps the chain alive.
    asm volatile("" ::"x"(first), "x"(second));
}

class OnEveryTarget : public testing::TestWithParam<const char*> {};

double level_one_sum(const Evaluated& evaluated, const std::string& target) {
    const auto table = events::load({}, target);
    double sum = 0;
    for (const auto& metric : table->metrics)
        if (metric.level == 1) sum += evaluated.at(metric.name);
    return sum;
}

TEST_P(OnEveryTarget, LevelOneOfSha256SumsToOneThoughTheProcessorLacksTheInstructions) {
    FunctionWorkload workload(sha256_blocks);
    ModelOptions options;
    options.software_always = true;
    const Evaluated evaluated = model_of(workload, GetParam(), options);
    EXPECT_NEAR(level_one_sum(evaluated, GetParam()), 1, 1e-9);
    EXPECT_GT(evaluated.sample.model->stepped_in_software, 10000U);
    EXPECT_EQ(evaluated.sample.model->undecodable, 0U);
}

INSTANTIATE_TEST_SUITE_P(Targets, OnEveryTarget,
                         testing::Values("AuthenticAMD-25-11-1", "amdzen5", "skylakex", "cascadelakex", "icelakex",
                                         "sapphirerapids"));

/// Twelve instructions in each iteration, which is three operations.
class Sums final : public counters::Workload {
  public:
    void run(std::uint64_t iterations) override {
        asm volatile("1:\n.rept 10\nadd %%rcx, %%rax\n.endr\ndec %0\njnz 1b" : "+r"(iterations) : : "rax", "rcx", "cc");
    }
    double operations_per_iteration() const override { return 3; }
};

TEST(ModelledKernel, KnowsTheInstructionsOfAnOperationWhereTheClockIsThisMachines) {
    Sums workload;
    ModelOptions options;
    options.windows = 1;
    constexpr std::uint64_t many = 1'000'000'000;
    EXPECT_FALSE(model_of(workload, "AuthenticAMD-25-11-1", options, many).sample.model->clock_check);
    options.core_clock_hz = [] { return 2e9; };
    const auto check = model_of(workload, "AuthenticAMD-25-11-1", options, many).sample.model->clock_check;
    ASSERT_TRUE(check);
    EXPECT_NEAR(check->instructions, 4, 0.05) << "and what begins and ends a run";
    EXPECT_EQ(check->windows, 1u);
    EXPECT_EQ(check->verdict, record::ClockVerdict::not_judged);
}

TEST(ModelledSha256, IsAboutAsFastOnTheFirstZensAsOnZen3) {
    std::map<std::string, double> per_cycle;
    for (const char* target : {"amdzen1", "amdzen2", "amdzen3"}) {
        FunctionWorkload workload(sha256_blocks);
        ModelOptions options;
        options.software_always = true;
        options.windows = 1;
        constexpr std::uint64_t blocks = 50'000'000;  // more than are run: no window meets the end of a call
        const Evaluated evaluated = model_of(workload, target, options, blocks);
        per_cycle[target] = evaluated.sample.model->counted_instructions / evaluated.cycles;
    }
    // Their published speeds are the same; LLVM's data alone makes the first two seven times as slow.
    EXPECT_NEAR(per_cycle["amdzen1"] / per_cycle["amdzen3"], 1, 0.15);
    EXPECT_NEAR(per_cycle["amdzen2"] / per_cycle["amdzen3"], 1, 0.15);
}

TEST(ModelledSha256, IsBoundByTheCoreOnZen4) {
    FunctionWorkload workload(sha256_blocks);
    ModelOptions options;
    options.software_always = true;
    constexpr std::uint64_t blocks = 50'000'000;  // more than are run: no window meets the end of a call
    const Evaluated evaluated = model_of(workload, "AuthenticAMD-25-11-1", options, blocks);
    EXPECT_GT(evaluated.at("backend_bound_cpu"), 0.5);
    EXPECT_LT(evaluated.at("backend_bound_memory"), 0.05);
    EXPECT_GT(evaluated.at("retiring_fastpath"), evaluated.at("retiring_microcode"));
    EXPECT_GT(evaluated.at("retiring_microcode"), 0.03);
    EXPECT_LT(evaluated.at("bad_speculation"), 0.02);
}

#endif

}  // namespace
}  // namespace tmaprobe::model
