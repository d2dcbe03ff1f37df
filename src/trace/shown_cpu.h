#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/registers.h"

namespace tmaprobe::trace {

/// What a followed program is told of the CPU where it asks by cpuid, so that it chooses the same code on every machine
/// that has as much: x86-64's level 3, or 4 where that is wanted and the machine has it. x86 only.
struct ShownCpu {
    struct Cache {
        int level = 1;
        bool data = true, code = true;
        std::uint64_t size_bytes = 0;
        unsigned line_bytes = 64, ways = 8;
    };
    enum class Vendor { intel, amd };
    Vendor vendor = Vendor::intel;
    std::vector<Cache> caches;  ///< the smallest level first
    bool avx512 = false;        ///< F, BW, CD, DQ and VL, if the machine has them

    /// Puts into the registers after a cpuid what the program is to see; `before`: as it asked. Programs make room for
    /// the registers' state by leaf 13: it is never less than the machine needs, and the same on all that need no more
    /// than AVX-512 does.
    void answer(const Registers& before, Registers& after) const;
    /// The same after an xgetbv: which registers the operating system saves.
    void answer_state(const Registers& before, Registers& after) const;
};

/// "x86-64-v4", ...: the highest level that programs are shown here, given which is wanted at most; "x86-64" where it
/// is below level 3, whose programs then choose by what there is. Empty on other architectures.
std::string shown_level(bool avx512);

}  // namespace tmaprobe::trace
