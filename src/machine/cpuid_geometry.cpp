// Caches and TLBs from CPUID: layouts as in Intel's SDM volume 2 and AMD's APM volume 3.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/sizes.h"
#include "machine/cpuid.h"

namespace tmaprobe::machine {
namespace {

constexpr std::uint64_t page_4k = 4096;
constexpr std::uint64_t page_2m = std::uint64_t{2} << 20;
constexpr std::uint64_t page_1g = std::uint64_t{1} << 30;

std::uint32_t bits(std::uint32_t value, int high, int low) {
    const std::uint64_t mask = (std::uint64_t{1} << (high - low + 1)) - 1;
    return static_cast<std::uint32_t>(value >> low & mask);
}

/// Intel's leaf 4 and AMD's leaf 8000001Dh share one layout.
std::vector<Cache> deterministic_caches(const CpuidReader& cpuid, std::uint32_t leaf, const char* source) {
    constexpr std::array<const char*, 4> kinds{"", "data", "instruction", "unified"};
    std::vector<Cache> caches;
    for (std::uint32_t index = 0; index < 16; ++index) {
        const CpuidRegisters answer = cpuid(leaf, index);
        const std::uint32_t type = bits(answer.eax, 4, 0);
        if (type == 0 || type >= kinds.size()) break;
        const std::uint64_t ways = bits(answer.ebx, 31, 22) + 1;
        const std::uint64_t partitions = bits(answer.ebx, 21, 12) + 1;
        const std::uint64_t line = bits(answer.ebx, 11, 0) + 1;
        Cache cache;
        cache.level = static_cast<int>(bits(answer.eax, 7, 5));
        cache.kind = kinds[type];
        cache.size_bytes = ways * partitions * line * (std::uint64_t{answer.ecx} + 1);
        cache.line_bytes = static_cast<int>(line);
        cache.ways = static_cast<int>(ways);
        cache.shared_by = static_cast<int>(bits(answer.eax, 25, 14) + 1);
        cache.source = source;
        caches.push_back(cache);
    }
    return caches;
}

/// The 4-bit code for associativity in 80000006h and 80000019h. 0: not known (9 refers to 8000001Dh).
int amd_ways(std::uint32_t code) {
    constexpr std::array<int, 16> ways{0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, -1};
    return ways[code & 0xF];
}

std::vector<Cache> legacy_amd_caches(const CpuidReader& cpuid) {
    std::vector<Cache> caches;
    const auto add = [&](int level, const char* kind, std::uint64_t bytes, std::uint32_t line, int ways,
                         const char* source) {
        if (bytes == 0) return;
        caches.push_back({level, kind, bytes, static_cast<int>(line), ways, 1, source});
    };
    const CpuidRegisters first = cpuid(0x80000005, 0), second = cpuid(0x80000006, 0);
    for (const auto& [kind, value] : {std::pair{"data", first.ecx}, std::pair{"instruction", first.edx}})
        add(1, kind, std::uint64_t{bits(value, 31, 24)} << 10, bits(value, 7, 0), static_cast<int>(bits(value, 23, 16)),
            "cpuid 80000005h");
    add(2, "unified", std::uint64_t{bits(second.ecx, 31, 16)} << 10, bits(second.ecx, 7, 0),
        amd_ways(bits(second.ecx, 15, 12)), "cpuid 80000006h");
    add(3, "unified", std::uint64_t{bits(second.edx, 31, 18)} << 19, bits(second.edx, 7, 0),
        amd_ways(bits(second.edx, 15, 12)), "cpuid 80000006h");
    return caches;
}

void add_tlb(std::vector<Tlb>& tlbs, int level, const char* kind, std::uint64_t page_bytes, std::uint32_t entries,
             int ways, const char* source) {
    if (entries == 0) return;
    tlbs.push_back({level, kind, page_bytes, static_cast<int>(entries), ways, source});
}

/// 80000005h: eight bits of ways (FFh: fully associative) and eight of entries, data above instruction.
void add_amd_first_level(std::vector<Tlb>& tlbs, std::uint32_t value, std::uint64_t page_bytes) {
    const auto ways = [](std::uint32_t code) { return code == 0xFF ? -1 : static_cast<int>(code); };
    const char* source = "cpuid 80000005h";
    add_tlb(tlbs, 1, "data", page_bytes, bits(value, 23, 16), ways(bits(value, 31, 24)), source);
    add_tlb(tlbs, 1, "instruction", page_bytes, bits(value, 7, 0), ways(bits(value, 15, 8)), source);
}

/// 80000006h and 80000019h: four bits of coded ways and twelve of entries. An empty upper half means
/// that the lower one describes a unified TLB.
void add_amd_coded(std::vector<Tlb>& tlbs, std::uint32_t value, int level, std::uint64_t page_bytes,
                   const char* source) {
    const bool unified = level == 2 && bits(value, 31, 16) == 0;
    add_tlb(tlbs, level, "data", page_bytes, bits(value, 27, 16), amd_ways(bits(value, 31, 28)), source);
    add_tlb(tlbs, level, unified ? "unified" : "instruction", page_bytes, bits(value, 11, 0),
            amd_ways(bits(value, 15, 12)), source);
}

std::vector<Tlb> amd_tlbs(const CpuidReader& cpuid) {
    std::vector<Tlb> tlbs;
    const CpuidRegisters first = cpuid(0x80000005, 0), second = cpuid(0x80000006, 0), large = cpuid(0x80000019, 0);
    add_amd_first_level(tlbs, first.ebx, page_4k);
    add_amd_first_level(tlbs, first.eax, page_2m);
    add_amd_coded(tlbs, large.eax, 1, page_1g, "cpuid 80000019h");
    add_amd_coded(tlbs, second.ebx, 2, page_4k, "cpuid 80000006h");
    add_amd_coded(tlbs, second.eax, 2, page_2m, "cpuid 80000006h");
    add_amd_coded(tlbs, large.ebx, 2, page_1g, "cpuid 80000019h");
    return tlbs;
}

std::vector<Tlb> deterministic_tlbs(const CpuidReader& cpuid) {
    // Type 4 serves loads only; stores have a smaller one of their own.
    constexpr std::array<const char*, 6> kinds{"", "data", "instruction", "unified", "data", "store"};
    std::vector<Tlb> tlbs;
    if (cpuid(0, 0).eax < 0x18) return tlbs;
    const std::uint32_t last = std::min(cpuid(0x18, 0).eax, 63U);
    for (std::uint32_t index = 0; index <= last; ++index) {
        const CpuidRegisters answer = cpuid(0x18, index);
        const std::uint32_t type = bits(answer.edx, 4, 0);
        if (type == 0 || type >= kinds.size()) continue;
        const std::uint32_t ways = bits(answer.ebx, 31, 16);
        const int shown_ways = bits(answer.edx, 8, 8) ? -1 : static_cast<int>(ways);
        const int level = static_cast<int>(bits(answer.edx, 7, 5));
        // Bit 2 is 4M pages, which only 32-bit kernels use.
        for (const auto& [bit, page] : {std::pair{0, page_4k}, std::pair{1, page_2m}, std::pair{3, page_1g}})
            if (bits(answer.ebx, bit, bit))
                add_tlb(tlbs, level, kinds[type], page, ways * answer.ecx, shown_ways, "cpuid 18h");
    }
    return tlbs;
}

bool is_amd(const CpuidReader& cpuid) {
    const std::string vendor = cpuid_vendor(cpuid);
    return vendor == "AuthenticAMD" || vendor == "HygonGenuine";
}

}  // namespace

std::vector<Cache> cpuid_caches(const CpuidReader& cpuid) {
    const bool amd = is_amd(cpuid);
    std::vector<Cache> caches =
        amd ? deterministic_caches(cpuid, 0x8000001D, "cpuid 8000001Dh") : deterministic_caches(cpuid, 4, "cpuid 4");
    if (caches.empty() && amd) caches = legacy_amd_caches(cpuid);
    return caches;
}

std::vector<Tlb> cpuid_tlbs(const CpuidReader& cpuid) {
    return is_amd(cpuid) ? amd_tlbs(cpuid) : deterministic_tlbs(cpuid);
}

std::vector<std::uint8_t> cpuid_descriptors(const CpuidReader& cpuid) {
    std::vector<std::uint8_t> descriptors;
    if (is_amd(cpuid) || cpuid(0, 0).eax < 2) return descriptors;
    const CpuidRegisters answer = cpuid(2, 0);
    bool first = true;
    for (const std::uint32_t value : {answer.eax, answer.ebx, answer.ecx, answer.edx}) {
        for (int shift = 0; shift < 32; shift += 8) {
            const bool is_call_count = first && shift == 0;
            const auto byte = static_cast<std::uint8_t>(value >> shift);
            if (value >> 31 == 0 && !is_call_count && byte != 0) descriptors.push_back(byte);
        }
        first = false;
    }
    return descriptors;
}

std::uint64_t cpuid_package_l3_bytes(const CpuidReader& cpuid) {
    return is_amd(cpuid) ? std::uint64_t{bits(cpuid(0x80000006, 0).edx, 31, 18)} << 19 : 0;
}

std::vector<std::string> cpuid_contradictions(const CpuidReader& cpuid) {
    std::vector<std::string> notes;
    const std::uint64_t legacy = std::uint64_t{bits(cpuid(0x80000006, 0).ecx, 31, 16)} << 10;
    for (const Cache& cache : cpuid_caches(cpuid))
        if (cache.level == 2 && cache.kind != "instruction" && legacy != 0 && legacy != cache.size_bytes)
            notes.push_back(fmt::format("CPUID 80000006h says that the L2 cache has {}, {} says {}: the latter is used",
                                        format_size(legacy), cache.source, format_size(cache.size_bytes)));
    return notes;
}

}  // namespace tmaprobe::machine
