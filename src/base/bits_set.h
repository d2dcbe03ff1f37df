#pragma once

#include <bit>
#include <cstdint>

namespace tmaprobe {

/// How many bits are set: std::popcount, which a build for every x86-64 makes a call where the processor has an
/// instruction for it.
inline unsigned bits_set(std::uint64_t word) {
#if defined(__x86_64__) && !defined(__POPCNT__)
    if (__builtin_cpu_supports("popcnt")) {
        std::uint64_t count = 0;
        asm("popcnt %1, %0" : "=r"(count) : "r"(word) : "cc");
        return static_cast<unsigned>(count);
    }
#endif
    return static_cast<unsigned>(std::popcount(word));
}

/// std::has_single_bit, which counts them all.
constexpr bool is_one_bit(std::uint64_t word) { return word && !(word & (word - 1)); }

}  // namespace tmaprobe
