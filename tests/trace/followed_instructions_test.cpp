#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/trace/fixture.h"
#include "trace/x86_encoding.h"

// Which instructions are copied, executed where they stand, or end a window, and which addresses are seen.
namespace tmaprobe::trace {
namespace {

#if defined(__x86_64__)

StaticInstruction decoded(std::initializer_list<std::uint8_t> bytes) {
    static const auto decoder = model::core::make_decoder("x86_64");
    std::vector<std::uint8_t> padded(bytes);
    padded.resize(16, 0x90);
    return (*decoder)->decode(padded.data(), padded.size(), 0x1000);
}

TEST(Decoder, KnowsWhatEndsAWindow) {
    const std::pair<std::vector<std::uint8_t>, EndedEarly> cases[] = {
        {{0xcc}, EndedEarly::breakpoint},
        {{0xf1}, EndedEarly::breakpoint},
        {{0xcd, 0x03}, EndedEarly::breakpoint},
        {{0xcd, 0x80}, EndedEarly::legacy_system_call},
        {{0x0f, 0x34}, EndedEarly::legacy_system_call},
        {{0xc7, 0xf8, 0, 0, 0, 0}, EndedEarly::transaction},
        {{0x0f, 0x05}, EndedEarly::none},
        {{0x90}, EndedEarly::none},
        {{0xc6, 0x00, 0x01}, EndedEarly::none},
    };
    for (const auto& [bytes, reason] : cases) {
        StaticInstruction instruction;
        std::copy(bytes.begin(), bytes.end(), instruction.bytes.begin());
        instruction.length = static_cast<std::uint8_t>(bytes.size());
        classify_x86(instruction);
        EXPECT_EQ(name_of(instruction.ends), name_of(reason)) << std::hex << int{bytes[0]};
    }
}

TEST(Decoder, TellsFarTransfersFromNearOnes) {
    for (const auto& far : {decoded({0xcb}), decoded({0xca, 8, 0}), decoded({0x48, 0xcb}), decoded({0x48, 0xcf}),
                            decoded({0xff, 0x18}), decoded({0x48, 0xff, 0x28})}) {
        EXPECT_TRUE(far.decoded && far.far && far.branch && far.indirect && far.system) << int{far.bytes[0]};
        EXPECT_FALSE(far.returns || far.call) << "the return predictor has no part in it";
    }
    for (const auto& near :
         {decoded({0xc3}), decoded({0xc2, 8, 0}), decoded({0xff, 0x10}), decoded({0xff, 0xe0}), decoded({0xf3, 0xc3})})
        EXPECT_TRUE(near.decoded && near.branch && near.indirect && !near.far && !near.system) << int{near.bytes[0]};
    EXPECT_EQ(popped_by_return(decoded({0xc2, 0x18, 0x01})), 0x118);
    EXPECT_EQ(decoded({0xeb, 0xfe}).target, 0x1000u);
    EXPECT_EQ(decoded({0x0f, 0x84, 0x10, 0, 0, 0}).target, 0x1016u);
}

TEST(Decoder, KnowsWhatMustBeExecutedWhereItStands) {
    // popf, mov to fs, wrfsbase, wrgsbase, swapgs, ud2, syscall, cli, in, rdtsc, rdtscp, cpuid, xgetbv
    for (const auto& one : {decoded({0x9d}), decoded({0x8e, 0xe0}), decoded({0xf3, 0x48, 0x0f, 0xae, 0xd0}),
                            decoded({0xf3, 0x48, 0x0f, 0xae, 0xd8}), decoded({0x0f, 0x01, 0xf8}), decoded({0x0f, 0x0b}),
                            decoded({0x0f, 0x05}), decoded({0xfa}), decoded({0xec}), decoded({0x0f, 0x31}),
                            decoded({0x0f, 0x01, 0xf9}), decoded({0x0f, 0xa2}), decoded({0x0f, 0x01, 0xd0})})
        EXPECT_TRUE(one.decoded && one.system) << std::hex << int{one.bytes[0]} << ' ' << int{one.bytes[1]};
    // pushf, rdfsbase, lea, fxsave
    for (const auto& one : {decoded({0x9c}), decoded({0xf3, 0x48, 0x0f, 0xae, 0xc0}), decoded({0x48, 0x8d, 0x04, 0x24}),
                            decoded({0x0f, 0xae, 0x00})})
        EXPECT_TRUE(one.decoded && !one.system) << std::hex << int{one.bytes[0]} << ' ' << int{one.bytes[1]};
}

TEST(Decoder, KnowsWhatAnInstructionWrites) {
    constexpr unsigned rax = 1, rcx = 2, rdx = 4, rbx = 8, rsp = 16, rsi = 64, rdi = 128;
    EXPECT_EQ(decoded({0x48, 0x01, 0xd8}).written_registers, rax);                    // add %rbx, %rax
    EXPECT_EQ(decoded({0x48, 0x39, 0xd8}).written_registers, 0u);                     // cmp %rbx, %rax
    EXPECT_EQ(decoded({0x48, 0x93}).written_registers, rax | rbx);                    // xchg
    EXPECT_EQ(decoded({0x48, 0xf7, 0xe3}).written_registers, rax | rdx);              // mul %rbx
    EXPECT_EQ(decoded({0x88, 0xd8}).written_registers, rax);                          // mov %bl, %al
    EXPECT_EQ(decoded({0x5b}).written_registers, rbx | rsp);                          // pop %rbx
    EXPECT_EQ(decoded({0xf3, 0x48, 0xa5}).written_registers, rcx | rsi | rdi);        // rep movsq
    EXPECT_EQ(decoded({0x48, 0x0f, 0xc1, 0xc3}).written_registers, rax | rbx);        // xadd %rax, %rbx
    EXPECT_EQ(decoded({0x0f, 0xa2}).written_registers, rax | rbx | rcx | rdx);        // cpuid
    EXPECT_EQ(decoded({0xf0, 0x48, 0x0f, 0xb1, 0x0f}).written_registers & rax, rax);  // lock cmpxchg %rcx, (%rdi)
}

/// Every encoding with register operands, executed once: what has changed then must be known to be written.
TEST(Decoder, KnowsOfEveryInstructionWhichRegistersItWrites) {
    auto process = TracedProcess::fork_function([] { ::pause(); });
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(process.has_value() && decoder.has_value());
    const auto start = process->registers();
    ASSERT_TRUE(start.has_value());
    const std::uint64_t at = start->instruction_pointer();
    std::size_t executed = 0;
    std::set<std::string> wrong;
    const auto execute = [&](const std::vector<std::uint8_t>& bytes) {
        const StaticInstruction instruction = (*decoder)->decode(bytes.data(), bytes.size(), at);
        if (!instruction.decoded || instruction.ends != EndedEarly::none) return;
        if (instruction.system || instruction.branch) return;
        if (instruction.explicit_memory || instruction.string) return;
        Registers before = *start;
        for (int reg = 0; reg < 16; ++reg)
            if (reg != 4 && reg != 5)
                before.set_general(reg, 0x123456789abcdef0u + static_cast<unsigned>(reg) * 0x1111u);
        before.set_general(5, start->stack_pointer() - 512);
        before.native.orig_rax = ~0ull;
        if (!process->write(at, bytes.data(), bytes.size()) || !process->set_registers(before)) return;
        const auto stop = process->step();
        const auto after = process->registers();
        if (!stop || stop->why != Stop::Why::step || !after) return;
        ++executed;
        for (int reg = 0; reg < 16; ++reg) {
            if (before.general(reg) == after->general(reg) || instruction.written_registers >> reg & 1) continue;
            std::string text;
            for (std::size_t i = 0; i < instruction.length; ++i) text += fmt::format("{:02x} ", bytes[i]);
            wrong.insert(fmt::format("{}writes register {}", text, reg));
        }
    };
    const std::vector<std::vector<std::uint8_t>> prefixes = {{}, {0x66}, {0xf2}, {0xf3}, {0x48}, {0x66, 0x48}};
    const std::vector<std::vector<std::uint8_t>> maps = {{}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}};
    for (const auto& prefix : prefixes)
        for (const auto& map : maps)
            for (unsigned opcode = 0; opcode < 256; ++opcode) {
                const bool no_opcode = opcode == 0x0f || (opcode & 0xf0) == 0x40;
                const bool x87 = opcode >= 0xd8 && opcode <= 0xdf;
                if (map.empty() && (no_opcode || x87)) continue;
                for (unsigned operation = 0; operation < 8; ++operation) {
                    std::vector<std::uint8_t> bytes = prefix;
                    bytes.insert(bytes.end(), map.begin(), map.end());
                    bytes.push_back(static_cast<std::uint8_t>(opcode));
                    bytes.push_back(static_cast<std::uint8_t>(0xc0 | operation << 3 | 3));
                    bytes.resize(16, 0x01);
                    execute(bytes);
                }
            }
    EXPECT_GT(executed, 10'000u);
    for (const std::string& one : wrong) ADD_FAILURE() << one;
}

/// Operands that are relative to the stack pointer in every kind of instruction that moves it.
__attribute__((noinline)) std::uint64_t use_the_stack() {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
        std::uint64_t one = i, two = 3;
        asm volatile(
            "sub $256, %%rsp\n mov %0, 16(%%rsp)\n push 16(%%rsp)\n pop 32(%%rsp)\n mov 32(%%rsp), %0\n"
            "lea 1f(%%rip), %%rax\n mov %%rax, 40(%%rsp)\n call *40(%%rsp)\n jmp 2f\n"
            "1: add 16(%%rsp,%1,8), %0\n ret\n"
            "2: push %0\n push %0\n lea 3f(%%rip), %%rax\n call 4f\n jmp 3f\n 4: inc %0\n ret $16\n"
            "3: enter $32, $0\n mov %0, -8(%%rbp)\n leave\n pushw %w0\n popw %w0\n"
            "add $8, %%rsp\n push %%rsp\n pop %%rsp\n sub $8, %%rsp\n"
            "mov 16(%%rsp), %1\n add $256, %%rsp\n"
            : "+r"(one), "+r"(two)::"rax", "rbp", "cc", "memory");
        sum = sum * 5 + one + two;
    }
    return sum;
}

/// Repeated instructions that end before their count, run downwards, or have nothing to do.
std::uint8_t text[4096], copy[4096];
__attribute__((noinline)) std::uint64_t use_strings() {
    std::memset(text, 'x', sizeof text);
    text[1000] = 0;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 20; ++i) {
        const void *at = text + i, *from = text + 2000, *same = text;
        void* to = copy + 3000;
        std::uint64_t left = ~std::uint64_t{0}, count = 500 + i, compared = 1500, none = 0;
        asm volatile("xor %%eax, %%eax\n repne scasb" : "+D"(at), "+c"(left)::"rax", "cc", "memory");
        asm volatile("std\n rep movsb\n cld" : "+S"(from), "+D"(to), "+c"(count)::"cc", "memory");
        const void* other = text + 1;
        asm volatile("repe cmpsb" : "+S"(same), "+D"(other), "+c"(compared)::"cc", "memory");
        asm volatile("rep stosq" : "+D"(to), "+c"(none)::"cc", "memory");
        asm volatile("lodsb" : "+S"(same)::"rax", "memory");
        const auto found = static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(at) - text);
        sum = sum * 3 + left + compared + found + copy[2600];
    }
    return sum;
}

struct Seen {
    std::uint64_t address, load, store;
    bool operator==(const Seen&) const = default;
};

/// What is seen of a function between its first call and its return, one way or the other; repeated instructions apart.
std::vector<Seen> accesses_of(std::uint64_t (*function)(), Way way) {
    std::vector<Seen> seen;
    std::uint64_t of_strings = 0;
    bool inside = false;
    const auto see = [&](const StaticInstruction& instruction, const Step& step) {
        inside = inside || instruction.address == reinterpret_cast<std::uint64_t>(function);
        if (!inside) return;
        if (instruction.repeated)
            of_strings += step.load > 0;
        else
            seen.push_back({instruction.address, step.load, step.store});
    };
    follow(function, way, see);
    return seen;
}

void expect_the_same_accesses(std::uint64_t (*function)()) {
    std::vector<std::vector<Seen>> both;
    for (const Way way : {Way::stepped, Way::translated}) both.push_back(accesses_of(function, way));
    // What follows the function depends on where the result lies, which is the same place in both.
    const std::size_t common = std::min(both[0].size(), both[1].size());
    ASSERT_GT(common, 400u);
    std::size_t different = 0;
    for (std::size_t i = 0; i < common && different < 5; ++i) {
        if (both[0][i] == both[1][i]) continue;
        ++different;
        const Seen &a = both[0][i], &b = both[1][i];
        ADD_FAILURE() << fmt::format("instruction {} at {:x} and {:x}: loads {:x} and {:x}, stores {:x} and {:x}", i,
                                     a.address, b.address, a.load, b.load, a.store, b.store);
    }
}

TEST(FollowedInstructions, OnTheStackAreSeenWhereTheyAccess) {
    EXPECT_EQ(follow(use_the_stack).result, use_the_stack());
    expect_the_same_accesses(use_the_stack);
}

TEST(FollowedInstructions, OfStringsAreSeenAsFarAsTheyCame) {
    EXPECT_EQ(follow(use_strings).result, use_strings());
    expect_the_same_accesses(use_strings);
    std::uint64_t lowest = ~std::uint64_t{0}, scanned = 0, copied = 0;
    const auto see = [&](const StaticInstruction& instruction, const Step& step) {
        if (!instruction.repeated) return;
        if (instruction.bytes[1] == 0xae) ++scanned;
        if (instruction.bytes[1] == 0xa4 && step.store) {
            ++copied;
            lowest = std::min(lowest, step.store);
        }
    };
    follow(use_strings, Way::translated, see);
    constexpr std::uint64_t piece = 32;
    EXPECT_NEAR(static_cast<double>(scanned), 20 * 990.0 / piece, 25)
        << "a scan ends at what it looks for, not at its count";
    EXPECT_NEAR(static_cast<double>(copied), 20 * 510.0 / piece, 25);
    EXPECT_LT(lowest, reinterpret_cast<std::uint64_t>(copy + 3000)) << "downwards";
    EXPECT_GT(lowest, reinterpret_cast<std::uint64_t>(copy + 2400));
}

std::uint64_t handled = 0;
void handle(int) { ++handled; }

std::uint64_t meets_a_breakpoint() {
    ::signal(SIGTRAP, handle);
    for (int i = 0; i < 3; ++i) asm volatile("int3");
    return handled;
}

std::uint64_t makes_a_legacy_system_call() {
    std::uint64_t pid = 0;
    asm volatile("int $0x80" : "=a"(pid) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
    return pid == static_cast<std::uint64_t>(::getpid());
}

std::uint64_t steps_itself() {
    ::signal(SIGTRAP, handle);
    asm volatile(
        "sub $128, %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n nop\n nop\n"
        "pushfq\n andq $~0x100, (%%rsp)\n popfq\n add $128, %%rsp" ::
            : "cc", "memory");
    return handled > 0;
}

TEST(FollowedInstructions, ThatAreTrapsEndTheWindowAndAreTheProgramsOwn) {
    const Followed followed = follow(meets_a_breakpoint);
    EXPECT_EQ(name_of(followed.ended_early), "breakpoint");
    EXPECT_EQ(followed.exit_status, 0);
    EXPECT_EQ(followed.result, 3u);
    EXPECT_EQ(name_of(follow(meets_a_breakpoint, Way::stepped).ended_early), "breakpoint");
}

TEST(FollowedInstructions, ThatAreLegacySystemCallsEndTheWindow) {
    EXPECT_EQ(name_of(follow(makes_a_legacy_system_call).ended_early), "legacy_system_call");
}

TEST(FollowedInstructions, ThatSetTheTrapFlagEndTheWindow) {
    EXPECT_EQ(name_of(follow(steps_itself).ended_early), "trap_flag");
    EXPECT_EQ(name_of(follow(steps_itself, Way::stepped).ended_early), "trap_flag");
}

std::uint64_t executes_what_nobody_knows() {
    ::signal(SIGILL, [](int) { ::_exit(7); });
    asm volatile(".byte 0x0f, 0x0a");  // no instruction, on any processor
    return 0;
}

TEST(FollowedInstructions, ThatNobodyKnowsEndTheWindow) {
    const Followed followed = follow(executes_what_nobody_knows);
    EXPECT_EQ(name_of(followed.ended_early), "undecodable");
    EXPECT_EQ(followed.exit_status, 7);
}

/// A handler for a jump to where nothing is, which comes back.
std::uint64_t jumps_to_nowhere() {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
        auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
        registers[REG_RIP] = registers[REG_RBX];
        registers[REG_RCX] += 1;
    };
    ::sigaction(SIGSEGV, &action, nullptr);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 50; ++i)
        asm volatile("mov %0, %%rcx\n lea 1f(%%rip), %%rbx\n mov %1, %%rax\n jmp *%%rax\n 1: mov %%rcx, %0"
                     : "+r"(sum)
                     : "r"(i & 1 ? std::uint64_t{0} : std::uint64_t{4096})
                     : "rax", "rbx", "rcx", "cc", "memory");
    return sum;
}

TEST(FollowedInstructions, ThatJumpToNowhereFaultAsTheyDoNatively) { EXPECT_EQ(follow(jumps_to_nowhere).result, 50u); }

std::uint64_t pushes_flags_often() {
    std::uint64_t traps = 0;
    for (int i = 0; i < 100; ++i) {
        std::uint64_t flags = 0;
        asm volatile("sub $128, %%rsp\n pushfq\n pop %0\n add $128, %%rsp" : "=r"(flags)::"cc", "memory");
        traps += flags >> 8 & 1;
    }
    return 1000 + traps;
}

TEST(FollowedInstructions, DoNotShowTheProgramThatItIsStepped) {
    EXPECT_EQ(follow(pushes_flags_often, Way::stepped).result, 1000u);
    EXPECT_EQ(follow(pushes_flags_often).result, 1000u);
}

std::atomic<std::uint64_t> alarms{0};
std::uint64_t works_under_a_timer() {
    ::signal(SIGALRM, [](int) { alarms.fetch_add(1); });
    const itimerval each{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &each, nullptr);
    std::uint64_t sum = 0, carried = 0;
    while (alarms.load() < 20)
        for (std::uint64_t i = 0; i < 1000; ++i) {
            carried = i;
            asm volatile("stc\n adc $0, %0\n lea (%0,%0), %0\n push %0\n pop %0" : "+r"(carried)::"cc", "memory");
            sum |= carried ^ (2 * (i + 1));
        }
    return sum;
}

TEST(FollowedInstructions, AreInterruptedBySignalsAsTheyComeAndGoOn) {
    const Followed followed = follow(works_under_a_timer);
    EXPECT_EQ(followed.exit_status, 0);
    EXPECT_EQ(followed.result, 0u);
    EXPECT_TRUE(followed.translates);
}

TEST(FollowedInstructions, OfAProcessThatIsKilledMeanwhileEndTheWindow) {
    auto process = TracedProcess::fork_function([] {
        for (std::atomic<std::uint64_t> i{0};;) i.fetch_add(1);
    });
    auto decoder = model::core::make_decoder("x86_64");
    ASSERT_TRUE(process.has_value() && decoder.has_value());
    Tracer tracer(*process, **decoder, false);
    Translator translator(*process, tracer);
    const auto ignore = [](const StaticInstruction&, const Step&) {};
    ASSERT_TRUE(translator.steps(100'000, ignore).has_value());
    ::kill(process->pid(), SIGKILL);
    const auto after = translator.steps(100'000, ignore);
    EXPECT_TRUE(!after || after->ended) << "a failure or the end, and no steps of nobody";
}

TEST(PointerStep, IsReadFromTheEncoding) {
    const auto step = [](std::initializer_list<std::uint8_t> bytes) { return pointer_step(decoded(bytes)); };
    EXPECT_EQ(step({0x50}).reg, 4);  // push %rax
    EXPECT_EQ(step({0x50}).by, -8);
    EXPECT_EQ(step({0x5c}).reg, -1);                          // pop %rsp
    EXPECT_EQ(step({0x8f, 0x44, 0x24, 8}).by, 8);             // pop 8(%rsp)
    EXPECT_EQ(step({0x48, 0x83, 0xec, 0x20}).by, -32);        // sub $32, %rsp
    EXPECT_EQ(step({0x49, 0x81, 0xc4, 0, 1, 0, 0}).reg, 12);  // add $256, %r12
    EXPECT_EQ(step({0x83, 0xc0, 0x20}).reg, -1);              // 32 bits
    EXPECT_EQ(step({0x48, 0x8d, 0x5b, 0xf8}).by, -8);         // lea -8(%rbx), %rbx
    EXPECT_EQ(step({0x66, 0x50}).reg, -1);                    // pushw
    EXPECT_EQ(step({0x48, 0xff, 0xc7}).by, 1);                // inc %rdi
}

#endif

}  // namespace
}  // namespace tmaprobe::trace
