#include <sys/mman.h>

#include <cstring>

#include "counters/model/core/decoder.h"
#include "counters/model/software_step.h"
#include "counters/model/translator.h"
#include "tests/counters/model_fixture.h"

namespace tmaprobe::counters::model {
namespace {

#if defined(__x86_64__)

/// Calls, indirect calls, pushes, loads and stores through every kind of operand, string instructions and
/// flags that must survive from one block to the next; the result depends on all of it.
struct Scratch {
    std::uint64_t words[64];
    std::uint8_t text[256];
};
Scratch scratch;

__attribute__((noinline)) std::uint64_t twice(std::uint64_t value) { return value * 2 + scratch.words[value & 63]; }
__attribute__((noinline)) std::uint64_t thrice(std::uint64_t value) { return value * 3 ^ scratch.words[(value >> 7) & 63]; }

// Not cloned for a constant argument either: its address is looked for.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noipa))
#else
__attribute__((noinline))
#endif
std::uint64_t exercise(std::uint64_t rounds) {
    std::uint64_t (*const functions[])(std::uint64_t) = {twice, thrice};
    std::uint64_t sum = 1;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        sum += functions[(sum ^ round) & 1](sum);
        scratch.words[round & 63] = sum;
        std::memset(scratch.text, static_cast<int>(sum), sizeof scratch.text);
        std::uint8_t *from = scratch.text, *to = scratch.text + 128;
        std::uint64_t count = 100;
        asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count)::"memory");
        std::uint64_t carried = sum;
        // The carry lives through a taken branch and a count loop, which no code between may disturb.
        asm volatile("mov $5, %%ecx\n add %0, %0\n 1: jmp 2f\n 2: adc $0, %0\n dec %%ecx\n jnz 1b\n"
                     "mov $3, %%ecx\n 3: lea 1(%0), %0\n loop 3b\n push %0\n pop %0"
                     : "+r"(carried)::"rcx", "cc", "memory");
        __atomic_fetch_add(&scratch.words[carried & 63], 3, __ATOMIC_SEQ_CST);
        asm volatile("lock addq $1, %0" : "+m"(scratch.words[0])::"cc");
        sum ^= carried;
    }
    return sum;
}

/// A child that runs `exercise` and then reports through shared memory.
struct Child {
    std::uint64_t* result = static_cast<std::uint64_t*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ~Child() { ::munmap(result, 4096); }
};

TEST(Translator, LeavesTheProgramAsItWouldHaveBeen) {
    constexpr std::uint64_t rounds = 5000;
    const Scratch before = scratch;
    const std::uint64_t expected = exercise(rounds);
    scratch = before;
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = exercise(rounds); });
    ASSERT_TRUE(process.has_value()) << process.error().what;
    auto decoder = core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer);
    std::size_t executed = 0;
    for (int part = 0; part < 100; ++part) {
        auto traced = translator.steps(20000, [&](const StaticInstruction&, const Step&) { ++executed; });
        ASSERT_TRUE(traced.has_value()) << traced.error().what;
        EXPECT_FALSE(traced->code_changed);
        if (traced->ended) break;
    }
    EXPECT_TRUE(translator.translates());
    ASSERT_TRUE(process->finish().has_value());
    EXPECT_EQ(process->exit_status(), 0);
    EXPECT_EQ(*child.result, expected);
    EXPECT_GT(executed, rounds * 30);
}

struct Seen {
    std::uint64_t address, load, store;
    bool operator==(const Seen&) const = default;
};

/// From one place in the code, so that all children have the same stack.
__attribute__((noinline)) std::vector<Seen> seen_by(bool translated, Decoder& decoder, std::size_t steps) {
    std::vector<Seen> seen;
    auto process = TracedProcess::fork_function([] { exercise(1000); });
    if (!process) return seen;
    Tracer tracer(*process, decoder, false);
    Translator translator(*process, tracer);
    // One step of a repeated instruction is one element; the translation gives larger pieces.
    if (translated) {
        (void)translator.steps(steps, [&](const StaticInstruction& what, const Step& step) {
            if (!what.repeated) seen.push_back({what.address, step.load, step.store});
        });
        return seen;
    }
    Trace trace;
    (void)tracer.trace(steps, trace);
    for (const Step& step : trace.steps) {
        const auto& what = trace.instructions[step.instruction];
        if (!what.repeated) seen.push_back({what.address, step.load, step.store});
    }
    return seen;
}

TEST(Translator, SeesTheSameInstructionsAndAddressesAsSingleSteps) {
    auto decoder = core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    std::vector<std::vector<Seen>> both;
    for (const bool translated : {false, true}) {
        std::vector<Seen> seen = seen_by(translated, **decoder, 20000);
        // How the child's wait for its parent ends is a matter of chance; its own code begins here.
        const auto start = std::find_if(seen.begin(), seen.end(), [](const Seen& one) { return one.address == reinterpret_cast<std::uint64_t>(&exercise); });
        both.emplace_back(start, seen.end());
    }
    const std::size_t common = std::min(both[0].size(), both[1].size());
    ASSERT_GT(common, 5000u);
    std::size_t different = 0;
    for (std::size_t i = 0; i < common && different < 5; ++i) {
        if (both[0][i] == both[1][i]) continue;
        ++different;
        ADD_FAILURE() << "instruction " << i << std::hex << " at " << both[0][i].address << " and " << both[1][i].address << ": loads "
                      << both[0][i].load << " and " << both[1][i].load << ", stores " << both[0][i].store << " and " << both[1][i].store;
    }
}

#include <immintrin.h>

__attribute__((target("sha,sse4.1"))) void one_round_of_each(std::uint32_t* words) {
    __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
    __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 4));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 8));
    for (int i = 0; i < 50; ++i) {
        a = _mm_sha256rnds2_epu32(a, b, c);
        b = _mm_sha256msg1_epu32(b, a);
        a = _mm_sha256msg2_epu32(a, b);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words), a);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(words + 4), b);
}

TEST(SoftwareStep, ComputesWhatTheProcessorComputes) {
    std::uint32_t start[12];
    for (std::uint32_t i = 0; i < 12; ++i) start[i] = 0x9e3779b9u * (i + 1);
    std::uint32_t expected[12];
    std::memcpy(expected, start, sizeof start);
    StaticInstruction rounds;
    rounds.bytes = {0x0f, 0x38, 0xcb, 0xc1};
    if (must_step_in_software(rounds)) GTEST_SKIP() << "this processor has no SHA extensions to compare with";
    one_round_of_each(expected);

    Child child;
    auto process = TracedProcess::fork_function([&] {
        std::uint32_t words[12];
        std::memcpy(words, start, sizeof words);
        one_round_of_each(words);
        std::memcpy(child.result, words, sizeof words);
    });
    ASSERT_TRUE(process.has_value());
    auto decoder = core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    Tracer tracer(*process, **decoder, true);
    Trace trace;
    auto traced = tracer.trace(30000, trace);
    ASSERT_TRUE(traced.has_value());
    EXPECT_EQ(traced->stepped_in_software, 150u);
    ASSERT_TRUE(process->finish().has_value());
    EXPECT_EQ(std::memcmp(child.result, expected, 32), 0);
}

TEST(Decoder, TakesAPrefixAsPartOfItsInstruction) {
    auto decoder = core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    const std::uint8_t locked_add[] = {0xf0, 0x83, 0x05, 0x1a, 0x2e, 0x02, 0x00, 0x01, 0x90, 0x90};
    const StaticInstruction instruction = (*decoder)->decode(locked_add, sizeof locked_add, 0x1000);
    EXPECT_TRUE(instruction.decoded);
    EXPECT_EQ(instruction.length, 8);
    EXPECT_TRUE(instruction.loads && instruction.stores);
    EXPECT_EQ(instruction.memory.base, MemoryOperand::instruction_pointer);
    EXPECT_EQ(instruction.bytes[0], 0xf0);
}

TEST(CodeEmitter, FindsTheOperandByteOfEveryEncoding) {
    const auto offset = [](std::initializer_list<std::uint8_t> bytes) {
        StaticInstruction instruction;
        instruction.length = static_cast<std::uint8_t>(bytes.size());
        std::copy(bytes.begin(), bytes.end(), instruction.bytes.begin());
        return modrm_offset(instruction);
    };
    EXPECT_EQ(offset({0x48, 0x8b, 0x05, 0, 0, 0, 0}), 2u);
    EXPECT_EQ(offset({0x66, 0x0f, 0x6f, 0x05, 0, 0, 0, 0}), 3u);
    EXPECT_EQ(offset({0x66, 0x41, 0x0f, 0x38, 0x00, 0xc0}), 5u);
    EXPECT_EQ(offset({0xc5, 0xf9, 0x6f, 0x05, 0, 0, 0, 0}), 3u);
    EXPECT_EQ(offset({0xc4, 0xe2, 0x71, 0x00, 0x05, 0, 0, 0, 0}), 4u);
    EXPECT_EQ(offset({0x62, 0xf1, 0x7c, 0x48, 0x28, 0x05, 0, 0, 0, 0}), 5u);
}

#endif

}  // namespace
}  // namespace tmaprobe::counters::model
