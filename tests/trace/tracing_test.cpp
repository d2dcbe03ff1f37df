#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>

#include "model/llvm/decoder.h"
#include "tests/model/fixture.h"
#include "tests/trace/fixture.h"
#include "trace/sha_routine.h"
#include "trace/software_step.h"
#include "trace/translator.h"
#include "trace/x86_encoding.h"

namespace tmaprobe::trace {
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
__attribute__((noinline)) std::uint64_t thrice(std::uint64_t value) {
    return value * 3 ^ scratch.words[(value >> 7) & 63];
}

// Not cloned for a constant argument either: its address is looked for.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((noipa))
#else
__attribute__((noinline))
#endif
std::uint64_t
exercise(std::uint64_t rounds) {
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
        asm volatile(
            "mov $5, %%ecx\n add %0, %0\n 1: jmp 2f\n 2: adc $0, %0\n dec %%ecx\n jnz 1b\n"
            "mov $3, %%ecx\n 3: lea 1(%0), %0\n loop 3b\n push %0\n pop %0"
            : "+r"(carried)::"rcx", "cc", "memory");
        __atomic_fetch_add(&scratch.words[carried & 63], 3, __ATOMIC_SEQ_CST);
        asm volatile("lock addq $1, %0" : "+m"(scratch.words[0])::"cc");
        sum ^= carried;
    }
    return sum;
}

TEST(Translator, LeavesTheProgramAsItWouldHaveBeen) {
    constexpr std::uint64_t rounds = 5000;
    const Scratch before = scratch;
    const std::uint64_t expected = exercise(rounds);
    scratch = before;
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = exercise(rounds); });
    ASSERT_TRUE(process.has_value()) << process.error().what;
    auto decoder = model::core::make_decoder("x86_64");
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

/// Reads through a bad address, with a carry that must survive, until the handler has mended the register:
/// as language runtimes do.
std::uint64_t faults = 0, good_word = 42;

void mend(int, siginfo_t*, void* context) {
    ++faults;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RCX] = reinterpret_cast<greg_t>(&good_word);
}

std::uint64_t lives_with_faults(std::uint64_t rounds) {
    struct sigaction action{};
    action.sa_sigaction = mend;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, nullptr);
    std::uint64_t sum = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::uint64_t value = 0, carried = round;
        asm volatile("mov $8, %%ecx\n stc\n mov (%%rcx), %0\n adc %0, %1"
                     : "=&r"(value), "+&r"(carried)::"rcx", "cc", "memory");
        sum = sum * 3 + carried;
    }
    return sum + faults;
}

TEST(Translator, LetsAProgramLiveWithItsFaults) {
    constexpr std::uint64_t rounds = 300;
    std::uint64_t expected = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) expected = expected * 3 + round + good_word + 1;
    Child child;
    auto process = TracedProcess::fork_function([&] { *child.result = lives_with_faults(rounds); });
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(process.has_value() && decoder.has_value());
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer);
    std::size_t reads = 0;
    const auto count = [&](const StaticInstruction&, const Step& step) {
        reads += step.load == reinterpret_cast<std::uint64_t>(&good_word);
    };
    bool ended = false;
    for (int part = 0; part < 100 && !ended; ++part) {
        auto traced = translator.steps(20000, count);
        ASSERT_TRUE(traced.has_value()) << traced.error().what;
        ended = traced->ended;
    }
    EXPECT_TRUE(ended && translator.translates());
    ASSERT_TRUE(process->finish().has_value());
    EXPECT_EQ(process->exit_status(), 0);
    EXPECT_EQ(*child.result, expected + rounds);
    EXPECT_GE(reads, rounds) << "each read that came about is seen, after the fault";
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
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    std::vector<std::vector<Seen>> both;
    for (const bool translated : {false, true}) {
        std::vector<Seen> seen = seen_by(translated, **decoder, 20000);
        // How the child's wait for its parent ends is a matter of chance; its own code begins here.
        const auto start = std::find_if(seen.begin(), seen.end(), [](const Seen& one) {
            return one.address == reinterpret_cast<std::uint64_t>(&exercise);
        });
        both.emplace_back(start, seen.end());
    }
    const std::size_t common = std::min(both[0].size(), both[1].size());
    ASSERT_GT(common, 5000u);
    std::size_t different = 0;
    for (std::size_t i = 0; i < common && different < 5; ++i) {
        if (both[0][i] == both[1][i]) continue;
        ++different;
        ADD_FAILURE() << "instruction " << i << std::hex << " at " << both[0][i].address << " and "
                      << both[1][i].address << ": loads " << both[0][i].load << " and " << both[1][i].load
                      << ", stores " << both[0][i].store << " and " << both[1][i].store;
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

/// SHA instructions with operands in memory and in the upper registers, among flags, registers and a stack
/// that must survive them; what comes out depend on all of it.
struct ShaResult {
    alignas(16) std::uint32_t words[12];
    std::uint64_t carries, pushed;
    bool operator==(const ShaResult& other) const {
        return std::memcmp(words, other.words, sizeof words) == 0 && carries == other.carries && pushed == other.pushed;
    }
};

ShaResult sha_among_other_work() {
    ShaResult result{{}, 0, 1};
    for (std::uint32_t i = 0; i < 12; ++i) result.words[i] = 0x9e3779b9u * (i + 1);
    one_round_of_each(result.words);
    std::uint64_t rounds = 40;
    asm volatile(
        "lea -128(%%rsp), %%rsp\n"  // past what the compiler keeps below its stack
        "movups (%[words]), %%xmm9\n movups 16(%[words]), %%xmm12\n movups 32(%[words]), %%xmm0\n stc\n"
        "1: push %[pushed]\n sha256rnds2 %%xmm0, 16(%[words],%[zero],2), %%xmm9\n adc $0, %[carries]\n"
        "sha256msg1 %%xmm9, %%xmm12\n sha256msg2 (%[words]), %%xmm12\n add %[carries], (%%rsp)\n pop %[pushed]\n"
        "lea (%[pushed],%[pushed],2), %[pushed]\n bt $3, %[pushed]\n dec %[rounds]\n jnz 1b\n"
        "movups %%xmm9, (%[words])\n movups %%xmm12, 16(%[words])\n lea 128(%%rsp), %%rsp\n"
        : [carries] "+&r"(result.carries), [pushed] "+&r"(result.pushed), [rounds] "+&r"(rounds)
        : [words] "c"(result.words), [zero] "a"(std::uint64_t{0})
        : "xmm0", "xmm9", "xmm12", "cc", "memory");
    return result;
}

/// What the child computes whose SHA instructions are done in software, in one of the two ways.
ShaResult sha_in_software(bool translated) {
    Child child;
    auto process = TracedProcess::fork_function([&] {
        const ShaResult result = sha_among_other_work();
        std::memcpy(child.result, &result, sizeof result);
    });
    auto decoder = model::core::make_decoder("x86_64");
    ShaResult result{};
    if (!process || !decoder) return result;
    Tracer tracer(*process, **decoder, true);
    Translator translator(*process, tracer);
    constexpr std::size_t enough = 30000, instructions = 3 * 50 + 3 * 40;
    Trace trace;
    std::size_t seen = 0;
    const auto count = [&](const StaticInstruction& what, const Step&) { seen += can_step_in_software(what); };
    auto traced = translated ? translator.steps(enough, count) : tracer.trace(enough, trace);
    for (const Step& step : trace.steps) count(trace.instructions[step.instruction], step);
    EXPECT_TRUE(traced.has_value() && traced->ended);
    EXPECT_EQ(seen, instructions);
    // A translated block that the end cuts short is not replayed.
    EXPECT_EQ(traced->stepped_in_software, instructions);
    EXPECT_EQ(translator.translates(), translated);
    EXPECT_TRUE(process->finish().has_value());
    std::memcpy(&result, child.result, sizeof result);
    return result;
}

TEST(SoftwareStep, IsTheSameStepByStepAndInTranslatedCode) { EXPECT_EQ(sha_in_software(false), sha_in_software(true)); }

TEST(SoftwareStep, ComputesWhatTheProcessorComputes) {
    StaticInstruction rounds;
    rounds.bytes = {0x0f, 0x38, 0xcb, 0xc1};
    if (must_step_in_software(rounds)) GTEST_SKIP() << "this processor has no SHA extensions to compare with";
    EXPECT_EQ(sha_in_software(true), sha_among_other_work());
}

TEST(SoftwareStep, FollowsTheStandard) {
    // The first two rounds of FIPS 180-4's example "abc", by hand: its appendix lists a to h after each.
    const std::uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    ShaOperands operands{
        {h[7], h[6], h[3], h[2]}, {h[5], h[4], h[1], h[0]}, {0x428a2f98u + 0x61626380u, 0x71374491, 0, 0}};
    tmaprobe_sha_in_software(&operands, sha256_rounds);
    const std::uint32_t after_two[4] = {0xfa2a4622, 0x78ce7989, 0x5d6aebcd, 0x5a6ad9ad};  // f, e, b, a
    EXPECT_EQ(std::memcmp(operands.destination, after_two, sizeof after_two), 0);
}

TEST(Decoder, TakesAPrefixAsPartOfItsInstruction) {
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(decoder.has_value());
    const std::uint8_t locked_add[] = {0xf0, 0x83, 0x05, 0x1a, 0x2e, 0x02, 0x00, 0x01, 0x90, 0x90};
    const StaticInstruction instruction = (*decoder)->decode(locked_add, sizeof locked_add, 0x1000);
    EXPECT_TRUE(instruction.decoded);
    EXPECT_EQ(instruction.length, 8);
    EXPECT_TRUE(instruction.loads && instruction.stores);
    EXPECT_EQ(instruction.memory.base, MemoryOperand::instruction_pointer);
    EXPECT_EQ(instruction.bytes[0], 0xf0);
}

TEST(X86Encoding, FindsTheOperandByteOfEveryEncoding) {
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
}  // namespace tmaprobe::trace
