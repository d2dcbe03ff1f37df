#pragma once

#include <cstdint>
#include <vector>

namespace tmaprobe::process {

/// Where a thread stood, and the newest part of its stack: enough to find the calls that led there, later and without
/// the process.
struct StackTop {
    std::uint64_t instruction_pointer = 0;
    std::vector<std::uint64_t> registers;  ///< by the number that DWARF gives them
    std::uint64_t begin = 0;               ///< address of the first of `words`: the stack pointer, or a little below
    std::vector<std::uint64_t> words;
};

}  // namespace tmaprobe::process
