#include "trace/shown_cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>

namespace tmaprobe::trace {

#if !defined(__x86_64__)

void ShownCpu::answer(const Registers&, Registers&) const {}
void ShownCpu::answer_state(const Registers&, Registers&) const {}
std::string shown_level(bool) { return {}; }

#else

namespace {

struct CpuidAnswer {
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Bits of x86-64's level 3 with AES and carry-less multiplication, which all processors of that level have, and of what
// the operating system needs to be asked for (leaf numbers and bits: Intel's manual, volume 2A, CPUID).
constexpr std::uint32_t features_1_ecx = 1u << 0 | 1u << 1 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 |
                                         1u << 22 | 1u << 23 | 1u << 25 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 29;
constexpr std::uint32_t features_1_edx =
    1u << 0 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 11 | 1u << 15 | 1u << 19 | 1u << 23 | 1u << 24 | 1u << 25 | 1u << 26;
constexpr std::uint32_t features_7_ebx = 1u << 3 | 1u << 5 | 1u << 8;
constexpr std::uint32_t avx512_7_ebx = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
constexpr std::uint32_t features_extended_ecx = 1u << 0 | 1u << 5;
constexpr std::uint32_t features_extended_edx = 1u << 11 | 1u << 20 | 1u << 26 | 1u << 27 | 1u << 29;
constexpr std::uint32_t extended = 0x80000000;

/// "GenuineIntel" in the order of ebx, edx and ecx.
CpuidAnswer vendor_answer(const char* name, std::uint32_t highest) {
    CpuidAnswer answer;
    answer.eax = highest;
    std::memcpy(&answer.ebx, name, sizeof answer.ebx);
    std::memcpy(&answer.edx, name + 4, sizeof answer.edx);
    std::memcpy(&answer.ecx, name + 8, sizeof answer.ecx);
    return answer;
}

/// Deterministic cache parameters: Intel's leaf 4 and AMD's 8000001dh alike.
CpuidAnswer cache_answer(const std::vector<ShownCpu::Cache>& caches, std::uint32_t number) {
    CpuidAnswer answer;
    if (number >= caches.size()) return answer;
    const auto& cache = caches[number];
    const std::uint32_t type = cache.data && cache.code ? 3 : cache.data ? 1 : 2;
    const std::uint32_t ways = std::max(1u, cache.ways), line = std::max(1u, cache.line_bytes);
    answer.eax = type | static_cast<std::uint32_t>(cache.level) << 5 | 1u << 8;
    answer.ebx = (ways - 1) << 22 | (line - 1);
    answer.ecx = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, cache.size_bytes / ways / line) - 1);
    return answer;
}

/// What XSAVE keeps: bits of leaf 13 and of xgetbv (Intel's manual, volume 1, XSAVE-managed state).
constexpr std::uint32_t state_up_to_avx = 0x7, state_of_avx512 = 0xe0;

/// Room for the state of all registers, by the one way to save them that all processors of level 3 have: programs that
/// find others use them.
CpuidAnswer state_answer(std::uint32_t subleaf, bool avx512, const CpuidAnswer& real) {
    constexpr std::uint32_t saves_when_changed = 1;
    constexpr std::uint32_t with_avx512_and_keys = 2696;  // bytes
    if (subleaf == 1) return {real.eax & saves_when_changed, 0, 0, 0};
    if (subleaf > 1) return real;
    return {state_up_to_avx | (avx512 ? state_of_avx512 : 0), std::max(real.ebx, with_avx512_and_keys),
            std::max(real.ecx, with_avx512_and_keys), 0};
}

std::uint64_t size_of(const std::vector<ShownCpu::Cache>& caches, int level, bool code) {
    for (const auto& cache : caches)
        if (cache.level == level && (code ? cache.code : cache.data)) return cache.size_bytes;
    return 0;
}

/// AMD's older leaves: sizes in KiB, and of the third level in 512 KiB.
CpuidAnswer amd_caches(const std::vector<ShownCpu::Cache>& caches, std::uint32_t leaf) {
    constexpr std::uint32_t line = 64 | 1u << 8, associative = 6u << 12, eight_ways = 8u << 16;
    const auto size_kib = [&](int level, bool code) {
        return static_cast<std::uint32_t>(size_of(caches, level, code) >> 10);
    };
    CpuidAnswer answer;
    if (leaf == extended + 5) {
        answer.ecx = size_kib(1, false) << 24 | eight_ways | line;
        answer.edx = size_kib(1, true) << 24 | eight_ways | line;
    } else {
        answer.ecx = size_kib(2, false) << 16 | associative | line;
        answer.edx = size_kib(3, false) / 512 << 18 | associative | line;
    }
    return answer;
}

CpuidAnswer shown(const ShownCpu& cpu, std::uint32_t leaf, std::uint32_t subleaf, const CpuidAnswer& real) {
    const bool intel = cpu.vendor == ShownCpu::Vendor::intel;
    const char* const name = intel ? "GenuineIntel" : "AuthenticAMD";
    // One model for all: libraries have exceptions for some.
    constexpr std::uint32_t ice_lake_server = 0x606a6, zen_4 = 0xa10f11, line_words = 8u << 8, alone = 1u << 16;
    constexpr std::uint32_t state_leaf = 13;
    switch (leaf) {
        case 0:
            return vendor_answer(name, state_leaf);
        case 1:
            return {intel ? ice_lake_server : zen_4, line_words | alone, real.ecx & features_1_ecx,
                    real.edx & features_1_edx};
        case 2:
            return intel ? CpuidAnswer{0x00ffff01, 0, 0, 0} : CpuidAnswer{};  // leaf 4 has the caches
        case 4:
            return intel ? cache_answer(cpu.caches, subleaf) : CpuidAnswer{};
        case 7:
            if (subleaf) return {};
            return {0, real.ebx & (features_7_ebx | (cpu.avx512 ? avx512_7_ebx : 0)), 0, 0};
        case state_leaf:
            return state_answer(subleaf, cpu.avx512, real);
        case extended:
            return vendor_answer(name, intel ? extended + 8 : extended + 0x1d);
        case extended + 1:
            return {0, 0, real.ecx & (features_extended_ecx | (intel ? 0 : 1u << 22)),
                    real.edx & features_extended_edx};
        case extended + 5:
        case extended + 6:
            return amd_caches(cpu.caches, leaf);
        case extended + 8:
            return {0x3030, 0, 0, 0};  // 48 bits of addresses
        case extended + 0x1d:
            return intel ? CpuidAnswer{} : cache_answer(cpu.caches, subleaf);
        default:
            return {};
    }
}

}  // namespace

void ShownCpu::answer(const Registers& before, Registers& after) const {
    const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    const CpuidAnswer real{low(after.native.rax), low(after.native.rbx), low(after.native.rcx), low(after.native.rdx)};
    const CpuidAnswer told = shown(*this, low(before.native.rax), low(before.native.rcx), real);
    after.native.rax = told.eax;
    after.native.rbx = told.ebx;
    after.native.rcx = told.ecx;
    after.native.rdx = told.edx;
}

void ShownCpu::answer_state(const Registers& before, Registers& after) const {
    constexpr std::uint64_t enabled = 0;  // which register is asked for
    if ((before.native.rcx & 0xffffffff) != enabled) return;
    after.native.rax &= state_up_to_avx | (avx512 ? state_of_avx512 : 0);
    after.native.rdx = 0;
}

std::string shown_level(bool avx512) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma"))
        return "x86-64";
    const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512vl");
    return avx512 && has ? "x86-64-v4" : "x86-64-v3";
}

#endif

}  // namespace tmaprobe::trace
