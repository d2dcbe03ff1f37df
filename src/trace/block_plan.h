#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace tmaprobe::trace {

/// How an address follows from what a block wrote to the trace.
struct RecordedAddress {
    std::int64_t constant = 0;
    std::uint16_t base = 0, index = 0;  ///< entries of the block; 0: none
    std::uint8_t shift = 0;
    char segment = 0;  ///< whose base is added: 'f', 'g'
};

/// One instruction of a block, as it is given out again from the trace.
struct PlannedStep {
    enum class Kind : std::uint8_t { neither, load, store, both, string };
    std::uint32_t instruction = 0;  ///< number
    Kind kind = Kind::neither;
    std::uint8_t string_bytes = 0;  ///< of a repeated instruction: of one element
    RecordedAddress load, store;
    /// Of a repeated instruction: entries of one of its pointers, before and after.
    std::uint16_t moved_from = 0, moved_to = 0;
};

/// A register whose value the block writes to the trace, before its instruction `position`, which is the number of
/// instructions for after the last.
struct RegisterRecord {
    std::uint16_t position = 0, entry = 0;
    std::uint8_t reg = 0;
};

/// What a block of code leaves in the trace: its number, then values of registers, as few as its addresses can be
/// computed from. Nothing is written for an address that differs from an earlier one by a constant.
struct BlockPlan {
    std::vector<PlannedStep> steps;
    std::vector<RegisterRecord> records;  ///< by position
    std::uint16_t entries = 1;            ///< the number included
    std::vector<std::uint16_t> accesses;  ///< which steps load or store
    bool has_strings = false;             ///< repeated instructions, which are several steps each
    /// Where they are asked for: the values, as if they were addresses.
    std::array<RecordedAddress, 3> arguments{};
    RecordedAddress stack_pointer, result;
};

/// What is to be known of a block besides its addresses.
struct WantedRegisters {
    bool arguments = false;  ///< rdi, rsi, rdx and the stack pointer where it begins
    bool result = false;     ///< rax where its last instruction begins
};

/// For x86 instructions that follow one another and are numbered `numbers`.
BlockPlan plan_block(std::span<const StaticInstruction> instructions, std::span<const std::uint32_t> numbers,
                     WantedRegisters wanted = {});

}  // namespace tmaprobe::trace
