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
constexpr std::uint64_t no_state = 0, avx_state = 0x6, avx512_state = 0xe6;

struct Bit {
    const char* name;
    unsigned leaf;
    Register in;
    int bit;
    std::uint64_t state;
};

constexpr std::array bits{
    Bit{"sse3", 1, ecx, 0, no_state},         Bit{"pclmulqdq", 1, ecx, 1, no_state},
    Bit{"ssse3", 1, ecx, 9, no_state},        Bit{"fma", 1, ecx, 12, avx_state},
    Bit{"sse4_1", 1, ecx, 19, no_state},      Bit{"sse4_2", 1, ecx, 20, no_state},
    Bit{"movbe", 1, ecx, 22, no_state},       Bit{"popcnt", 1, ecx, 23, no_state},
    Bit{"aes", 1, ecx, 25, no_state},         Bit{"avx", 1, ecx, 28, avx_state},
    Bit{"bmi1", 7, ebx, 3, no_state},         Bit{"avx2", 7, ebx, 5, avx_state},
    Bit{"bmi2", 7, ebx, 8, no_state},         Bit{"avx512f", 7, ebx, 16, avx512_state},
    Bit{"avx512dq", 7, ebx, 17, avx512_state}, Bit{"clflushopt", 7, ebx, 23, no_state},
    Bit{"clwb", 7, ebx, 24, no_state},        Bit{"sha_ni", 7, ebx, 29, no_state},
    Bit{"avx512bw", 7, ebx, 30, avx512_state}, Bit{"avx512vl", 7, ebx, 31, avx512_state},
    Bit{"vaes", 7, ecx, 9, avx_state},        Bit{"3dnowprefetch", 0x80000001, ecx, 8, no_state},
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
    unsigned long mask;  ///< of AT_HWCAP
};

constexpr std::array bits{
    Bit{"asimd", HWCAP_ASIMD}, Bit{"aes", HWCAP_AES},         Bit{"pmull", HWCAP_PMULL},
    Bit{"sha1", HWCAP_SHA1},   Bit{"sha2", HWCAP_SHA2},       Bit{"crc32", HWCAP_CRC32},
    Bit{"atomics", HWCAP_ATOMICS}, Bit{"sha512", HWCAP_SHA512}, Bit{"sve", HWCAP_SVE},
};

#endif

}  // namespace

std::vector<std::string> instruction_set_features() {
    std::vector<std::string> found;
#if defined(__x86_64__)
    const std::uint64_t saved = saved_states();
    for (const Bit& bit : bits) {
        std::array<unsigned, 4> r{};
        if (!__get_cpuid_count(bit.leaf, 0, &r[0], &r[1], &r[2], &r[3])) continue;
        const bool there = (r[static_cast<std::size_t>(bit.in)] >> bit.bit) & 1U;
        if (there && (saved & bit.state) == bit.state) found.emplace_back(bit.name);
    }
#elif defined(__aarch64__)
    const unsigned long capabilities = getauxval(AT_HWCAP);
    for (const Bit& bit : bits)
        if (capabilities & bit.mask) found.emplace_back(bit.name);
#endif
    return found;
}

}  // namespace tmaprobe::machine
