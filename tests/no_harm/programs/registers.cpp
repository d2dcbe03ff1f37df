// State of the processor that is the program's own: segment bases, restartable sequences, vector and control registers.
// x86-64 only.
#include <asm/prctl.h>
#include <immintrin.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#include <cfenv>
#include <cmath>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

uint64_t through_gs(uint64_t offset) {
    uint64_t value = 0;
    asm volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(offset));
    return value;
}

bool has_fsgsbase() {
    constexpr unsigned long kHwcap2FsGsBase = 2;
    return getauxval(AT_HWCAP2) & kHwcap2FsGsBase;
}

/// The base of gs set by a system call, in each thread to a block of its own.
void gs_by_system_call() {
    auto working = [](uint64_t mark) {
        uint64_t block[16];
        for (uint64_t i = 0; i < 16; ++i) block[i] = mark + i;
        must(syscall(SYS_arch_prctl, ARCH_SET_GS, block), "arch_prctl");
        uint64_t wrong = 0;
        for (Span span; span.lasts();)
            for (uint64_t i = 0; i < 4096; ++i) wrong += through_gs(i % 16 * 8) != mark + i % 16;
        expect_equal("wrong loads", static_cast<long long>(wrong), 0);
    };
    std::thread first(working, 1000), second(working, 2000);
    working(3000);
    first.join();
    second.join();
}

/// The base of gs changed all the time by instructions.
void gs_by_instruction() {
    if (!has_fsgsbase()) skip("this CPU or kernel has no FSGSBASE");
    uint64_t blocks[8][2];
    for (uint64_t i = 0; i < 8; ++i) blocks[i][0] = blocks[i][1] = 100 + i;
    uint64_t wrong = 0;
    for (Span span; span.lasts();)
        for (uint64_t i = 0; i < 4096; ++i) {
            uint64_t value = 0, base = 0;
            asm volatile(
                "wrgsbase %2\n"
                "movq %%gs:8, %0\n"
                "rdgsbase %1\n"
                : "=&r"(value), "=&r"(base)
                : "r"(blocks[i % 8]));
            wrong += value != 100 + i % 8 || base != reinterpret_cast<uint64_t>(blocks[i % 8]);
        }
    expect_equal("wrong", static_cast<long long>(wrong), 0);
}

/// The base of fs moved away and back between two instructions of a loop.
void fs_by_instruction() {
    if (!has_fsgsbase()) skip("this CPU or kernel has no FSGSBASE");
    uint64_t block[2] = {0x1234, 0x5678};
    uint64_t wrong = 0;
    for (Span span; span.lasts();)
        for (uint64_t i = 0; i < 4096; ++i) {
            uint64_t value = 0, old = 0;
            asm volatile(
                "rdfsbase %1\n"
                "wrfsbase %2\n"
                "movq %%fs:8, %0\n"
                "wrfsbase %1\n"
                : "=&r"(value), "=&r"(old)
                : "r"(block));
            wrong += value != 0x5678;
        }
    expect_equal("wrong", static_cast<long long>(wrong), 0);
}

struct alignas(64) PerCpu {
    uint64_t count;
};

volatile struct rseq* registered_rseq() {
    if (__rseq_size == 0) skip("the C library has registered no restartable sequences");
    return reinterpret_cast<volatile struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
}

/// Adds 1 to this CPU's count in a restartable sequence; false if it was aborted.
bool add_on_this_cpu(volatile struct rseq* area, PerCpu* counts) {
    uint32_t cpu = area->cpu_id_start;
    asm goto(
        ".pushsection __rseq_cs, \"aw\"\n"
        ".balign 32\n"
        "3: .long 0, 0\n"
        ".quad 1f, 2f - 1f, 4f\n"
        ".popsection\n"
        "leaq 3b(%%rip), %%rax\n"
        "movq %%rax, 8(%[area])\n"
        "1:\n"
        "cmpl %[cpu], 4(%[area])\n"
        "jne %l[aborted]\n"
        "movq (%[count]), %%rax\n"
        "addq $1, %%rax\n"
        "movq %%rax, (%[count])\n"
        "2:\n"
        ".pushsection __rseq_failure, \"ax\"\n"
        ".byte 0x0f, 0xb9, 0x3d\n"
        ".long 0x53053053\n"
        "4: jmp %l[aborted]\n"
        ".popsection\n"
        :
        : [area] "r"(area), [cpu] "r"(cpu), [count] "r"(&counts[cpu].count)
        : "memory", "cc", "rax"
        : aborted);
    return true;
aborted:
    return false;
}

/// Per-CPU counters without atomics: right only if each preemption, migration and signal aborts the sequence.
void restartable_sequences() {
    registered_rseq();
    static PerCpu counts[1024];
    std::atomic<long long> added{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            volatile struct rseq* area = registered_rseq();
            long long mine = 0;
            for (Span span; span.lasts();)
                for (int again = 0; again < 20000; ++again) {
                    while (!add_on_this_cpu(area, counts)) {
                    }
                    ++mine;
                }
            added += mine;
        });
    for (std::thread& thread : threads) thread.join();
    long long sum = 0;
    for (const PerCpu& each : counts) sum += static_cast<long long>(each.count);
    expect_equal("counted", sum, added);
}

void rseq_knows_the_cpu() {
    volatile struct rseq* area = registered_rseq();
    long long wrong = 0;
    for (Span span; span.lasts();) {
        busy(0.1);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
        cpu_set_t before;
        sched_getaffinity(0, sizeof before, &before);
        if (sched_setaffinity(0, sizeof one, &one) != 0) continue;
        unsigned cpu = 0;
        syscall(SYS_getcpu, &cpu, nullptr, nullptr);
        wrong += area->cpu_id != cpu;
        sched_setaffinity(0, sizeof before, &before);
    }
    expect_equal("wrong", wrong, 0);
}

/// Rounding, x87 precision and what the vector registers hold, over a long time without a call.
void control_words() {
    std::fesetround(FE_UPWARD);
    const unsigned csr = _mm_getcsr();
    uint16_t word = 0x0e7f, now = 0;  // round towards zero, double precision
    asm volatile("fldcw %0" ::"m"(word));
    for (Span span; span.lasts();) {
        volatile double third = 1.0;
        third = third / 3;
        if (!expect(third * 3 > 1.0, "rounded upwards")) return;
        asm volatile("fnstcw %0" : "=m"(now));
        if (!expect_equal("x87 control word", now, word) || !expect_equal("mxcsr", _mm_getcsr() & 0xffc0, csr & 0xffc0))
            return;
    }
}

[[gnu::target("avx512f")]] long long wide_registers(long rounds) {
    __m512i value = _mm512_set_epi64(8, 7, 6, 5, 4, 3, 2, 1);
    __mmask8 mask = 0xa5;
    alignas(64) long long sums[8];
    asm volatile(
        "kmovw %k[mask], %%k3\n"
        "vmovdqa64 %[value], %%zmm29\n"
        "vmovdqa64 %[value], %%zmm7\n"
        "1: sub $1, %[rounds]\n"
        "jnz 1b\n"
        "vmovdqa64 %%zmm29, %[value]\n"
        "vpaddq %%zmm7, %[value], %[value]%{%%k3%}\n"
        : [value] "+v"(value), [rounds] "+r"(rounds)
        : [mask] "r"(static_cast<unsigned>(mask))
        : "zmm29", "zmm7", "k3", "cc");
    _mm512_store_si512(sums, value);
    long long sum = 0;
    for (long long each : sums) sum += each;
    return sum;
}

[[gnu::target("avx2")]] long long half_as_wide_registers(long rounds) {
    __m256i value = _mm256_set_epi64x(4, 3, 2, 1);
    alignas(32) long long sums[4];
    asm volatile(
        "vmovdqa %[value], %%ymm13\n"
        "vmovdqa %[value], %%ymm7\n"
        "1: sub $1, %[rounds]\n"
        "jnz 1b\n"
        "vpaddq %%ymm7, %%ymm13, %[value]\n"
        : [value] "+x"(value), [rounds] "+r"(rounds)
        :
        : "ymm13", "ymm7", "cc");
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums), value);
    return sums[0] + sums[1] + sums[2] + sums[3];
}

/// The widest registers that this CPU has.
void vector_registers() {
    const bool masked = __builtin_cpu_supports("avx512f") != 0;
    if (!masked && __builtin_cpu_supports("avx2") == 0) skip("this CPU has no AVX2");
    long long expected = 20;
    if (masked) {
        expected = 0;
        for (int i = 0; i < 8; ++i) expected += (i + 1) * (0xa5 >> i & 1 ? 2 : 1);
    }
    for (Span span; span.lasts();) {
        const long long sum = masked ? wide_registers(3'000'000) : half_as_wide_registers(3'000'000);
        if (!expect_equal("sum", sum, expected)) return;
    }
}

/// What is below the stack pointer (the red zone), the direction flag, and the stack pointer as an ordinary register.
void odd_stacks() {
    alignas(16) static uint64_t other_stack[64];
    for (Span span; span.lasts();) {
        uint64_t red = 0, sum = 0;
        asm volatile(
            "movq $77, -64(%%rsp)\n"
            "movl $2000000, %%ecx\n"
            "1: decl %%ecx\n"
            "jnz 1b\n"
            "movq -64(%%rsp), %0\n"
            : "=r"(red)
            :
            : "rcx", "memory", "cc");
        if (!expect_equal("in the red zone", static_cast<long long>(red), 77)) return;
        asm volatile(
            "movq %%rsp, %%r8\n"
            "movl $200000, %%ecx\n"
            "xorl %%eax, %%eax\n"
            "1: leaq 504(%[stack]), %%rsp\n"
            "pushq %%rcx\n"
            "popq %%rdx\n"
            "addq %%rdx, %%rax\n"
            "decl %%ecx\n"
            "jnz 1b\n"
            "movq %%r8, %%rsp\n"
            : "=&a"(sum)
            : [stack] "r"(other_stack)
            : "rcx", "rdx", "r8", "memory", "cc");
        if (!expect_equal("sum", static_cast<long long>(sum), 200000LL * 200001 / 2)) return;
        char text[64] = "backwards", copy[64] = {};
        asm volatile("std\n rep movsb\n cld\n" : : "S"(text + 9), "D"(copy + 9), "c"(10) : "memory");
        if (!expect(strcmp(text, copy) == 0, "copied backwards")) return;
    }
}

/// Into 32-bit code by a far jump, and back.
void far_jumps() {
    auto* code = static_cast<unsigned char*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
    if (code == MAP_FAILED) fail("mmap");
    // A far return into 32-bit code, which loops, adds 5 and jumps back. The upper half of rsp is lost there.
    const unsigned char bytes[] = {
        0x49, 0x89, 0xe7,                          // mov %rsp, %r15
        0x6a, 0x23,                                // push $0x23
        0x68, 0,    0,    0,    0,                 // push $inside
        0x48, 0xcb,                                // lretq
        0xb9, 0x40, 0x0d, 0x03, 0x00,              // inside: mov $200000, %ecx
        0x49,                                      // 1: dec %ecx
        0x75, 0xfd,                                // jnz 1b
        0x83, 0xc0, 0x05,                          // add $5, %eax
        0xea, 0,    0,    0,    0,    0x33, 0x00,  // ljmp $0x33, $back
        0x4c, 0x89, 0xfc,                          // back: mov %r15, %rsp
        0xc3,                                      // ret
    };
    memcpy(code, bytes, sizeof bytes);
    auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(code));
    uint32_t inside = address + 12, back = address + 30;
    memcpy(code + 6, &inside, 4);
    memcpy(code + 24, &back, 4);
    long long rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        uint64_t value = static_cast<uint64_t>(rounds);
        asm volatile(
            "subq $128, %%rsp\n"
            "call *%1\n"
            "addq $128, %%rsp\n"
            : "+a"(value)
            : "r"(code)
            : "memory", "cc", "rcx", "rdx", "rsi", "r15");
        if (!expect_equal("value", static_cast<long long>(value), rounds + 5)) return;
    }
}

/// Clocks never go backwards, and their functions are those of the vDSO.
void clocks() {
    timespec last{};
    unsigned long long last_tick = 0, backwards = 0;
    for (Span span; span.lasts();)
        for (int i = 0; i < 1000; ++i) {
            timespec now{};
            clock_gettime(CLOCK_MONOTONIC, &now);
            if (now.tv_sec < last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec < last.tv_nsec)) ++backwards;
            last = now;
            unsigned aux = 0;
            unsigned long long tick = __rdtscp(&aux);
            if (tick < last_tick) ++backwards;
            last_tick = tick;
        }
    expect_equal("backwards", static_cast<long long>(backwards), 0);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"gs_by_system_call", gs_by_system_call},
        {"gs_by_instruction", gs_by_instruction},
        {"fs_by_instruction", fs_by_instruction},
        {"restartable_sequences", restartable_sequences},
        {"rseq_knows_the_cpu", rseq_knows_the_cpu},
        {"control_words", control_words},
        {"vector_registers", vector_registers},
        {"odd_stacks", odd_stacks},
        {"far_jumps", far_jumps},
        {"clocks", clocks},
    };
    return run_named(cases, argc, argv);
}
