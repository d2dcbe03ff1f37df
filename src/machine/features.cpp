#include "machine/features.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tmaprobe::machine {
namespace {

#if defined(__x86_64__)

enum Register { eax, ebx, ecx, edx };

/// Which register state the operating system must save for an extension to be usable (bits of XCR0).
constexpr std::uint64_t no_state = 0, avx_state = 0x6, avx512_state = 0xe6, amx_state = 0x60000;

struct Bit {
    const char* name;
    unsigned leaf;
    Register in;
    int bit;
    std::uint64_t state;
    unsigned subleaf = 0;
};

constexpr std::array extension_bits{
    Bit{"sse3", 1, ecx, 0, no_state},
    Bit{"pclmulqdq", 1, ecx, 1, no_state},
    Bit{"ssse3", 1, ecx, 9, no_state},
    Bit{"fma", 1, ecx, 12, avx_state},
    Bit{"sse4_1", 1, ecx, 19, no_state},
    Bit{"sse4_2", 1, ecx, 20, no_state},
    Bit{"movbe", 1, ecx, 22, no_state},
    Bit{"popcnt", 1, ecx, 23, no_state},
    Bit{"aes", 1, ecx, 25, no_state},
    Bit{"avx", 1, ecx, 28, avx_state},
    Bit{"bmi1", 7, ebx, 3, no_state},
    Bit{"avx2", 7, ebx, 5, avx_state},
    Bit{"bmi2", 7, ebx, 8, no_state},
    Bit{"avx512f", 7, ebx, 16, avx512_state},
    Bit{"avx512dq", 7, ebx, 17, avx512_state},
    Bit{"clflushopt", 7, ebx, 23, no_state},
    Bit{"clwb", 7, ebx, 24, no_state},
    Bit{"sha_ni", 7, ebx, 29, no_state},
    Bit{"avx512bw", 7, ebx, 30, avx512_state},
    Bit{"avx512vl", 7, ebx, 31, avx512_state},
    Bit{"vaes", 7, ecx, 9, avx_state},
    Bit{"3dnowprefetch", 0x80000001, ecx, 8, no_state},
    // What follows tells cores apart (events/nearest.json).
    Bit{"f16c", 1, ecx, 29, avx_state},
    Bit{"adx", 7, ebx, 19, no_state},
    Bit{"waitpkg", 7, ecx, 5, no_state},
    Bit{"gfni", 7, ecx, 8, no_state},
    Bit{"avx512_vnni", 7, ecx, 11, avx512_state},
    Bit{"movdiri", 7, ecx, 27, no_state},
    Bit{"avx512_vp2intersect", 7, edx, 8, avx512_state},
    Bit{"serialize", 7, edx, 14, no_state},
    Bit{"hybrid", 7, edx, 15, no_state},
    Bit{"avx512_fp16", 7, edx, 23, avx512_state},
    Bit{"amx_tile", 7, edx, 24, amx_state},
    Bit{"sha512", 7, eax, 0, avx_state, 1},
    Bit{"avx_vnni", 7, eax, 4, avx_state, 1},
    Bit{"avx512_bf16", 7, eax, 5, avx512_state, 1},
    Bit{"amx_fp16", 7, eax, 21, amx_state, 1},
    Bit{"avx_ifma", 7, eax, 23, avx_state, 1},
    Bit{"avx_vnni_int8", 7, edx, 4, avx_state, 1},
    Bit{"avx_vnni_int16", 7, edx, 10, avx_state, 1},
    Bit{"clzero", 0x80000008, ebx, 0, no_state},
    Bit{"wbnoinvd", 0x80000008, ebx, 9, no_state},
};

/// XCR0: the register states that the operating system saves; 0 when it uses no XSAVE.
std::uint64_t saved_states() {
    std::array<unsigned, 4> r{};
    constexpr unsigned osxsave = 1U << 27;
    if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || !(r[ecx] & osxsave)) return 0;
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
}

#elif defined(__aarch64__)

struct Bit {
    const char* name;
    unsigned long mask;
    unsigned long word = AT_HWCAP;  ///< of the auxiliary vector
};

constexpr std::array extension_bits{
    Bit{"asimd", HWCAP_ASIMD},
    Bit{"aes", HWCAP_AES},
    Bit{"pmull", HWCAP_PMULL},
    Bit{"sha1", HWCAP_SHA1},
    Bit{"sha2", HWCAP_SHA2},
    Bit{"crc32", HWCAP_CRC32},
    Bit{"atomics", HWCAP_ATOMICS},
    Bit{"sha512", HWCAP_SHA512},
    Bit{"sve", HWCAP_SVE},
    // What follows tells cores apart (events/nearest.json).
    Bit{"asimddp", HWCAP_ASIMDDP},
    Bit{"sha3", HWCAP_SHA3},
#ifdef HWCAP2_ECV
    Bit{"sve2", HWCAP2_SVE2, AT_HWCAP2},
    Bit{"bf16", HWCAP2_BF16, AT_HWCAP2},
    Bit{"i8mm", HWCAP2_I8MM, AT_HWCAP2},
    Bit{"bti", HWCAP2_BTI, AT_HWCAP2},
    Bit{"ecv", HWCAP2_ECV, AT_HWCAP2},
#endif
};

#endif

}  // namespace

std::vector<std::string> instruction_set_features() {
    std::vector<std::string> found;
#if defined(__x86_64__)
    const std::uint64_t saved = saved_states();
    for (const Bit& bit : extension_bits) {
        std::array<unsigned, 4> r{};
        if (!__get_cpuid_count(bit.leaf, bit.subleaf, &r[0], &r[1], &r[2], &r[3])) continue;
        const bool there = (r[static_cast<std::size_t>(bit.in)] >> bit.bit) & 1U;
        if (there && (saved & bit.state) == bit.state) found.emplace_back(bit.name);
    }
#elif defined(__aarch64__)
    for (const Bit& bit : extension_bits)
        if (getauxval(bit.word) & bit.mask) found.emplace_back(bit.name);
#endif
    return found;
}

}  // namespace tmaprobe::machine
