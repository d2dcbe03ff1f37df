#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/trace.h"

namespace tmaprobe::trace {

/// General registers by their numbers in encodings.
inline constexpr int rax = 0, rcx = 1, rdx = 2, rsp = 4, rsi = 6, rdi = 7;
/// What a push takes from the stack pointer, in bytes.
inline constexpr std::int64_t stack_slot = 8;

/// The parts of one x86-64 instruction's encoding.
struct X86Encoding {
    enum Map : std::uint8_t { one_byte = 0, two_byte = 1, three_byte_38 = 2, three_byte_3a = 3 };
    std::uint8_t map = one_byte, opcode = 0;
    std::size_t prefixes = 0;   ///< how many legacy prefixes there are
    std::size_t opcode_at = 0;  ///< its offset; a ModRM byte, if the instruction has one, follows it
    std::uint8_t rex = 0;       ///< 0: none
    bool vector = false;        ///< VEX, EVEX or XOP
    bool operand_16 = false, address_32 = false, rep = false, repne = false, lock = false;
    char segment = 0;  ///< 'f' or 'g' by a prefix

    bool is(Map in, std::uint8_t code) const { return !vector && map == in && opcode == code; }
    bool wide() const { return rex & 8; }
};

X86Encoding x86_encoding(const StaticInstruction& instruction);

/// The offset of the ModRM byte of an instruction that has one.
std::size_t modrm_offset(const StaticInstruction& instruction);

/// Sets what the encoding alone decides: branches and their kind, near or far; what touches the stack; string
/// instructions; and what has to be executed where it stands, or cannot be followed.
void classify_x86(StaticInstruction& instruction);

/// A register that an instruction changes by an amount which its encoding tells.
struct PointerStep {
    int reg = -1;  ///< none
    std::int64_t by = 0;
};
PointerStep pointer_step(const StaticInstruction& instruction);

/// For a conditional jump with a displacement of 8 or 32 bits: its condition as the encoding has it; else -1.
int jump_condition(const StaticInstruction& instruction);

/// loop, loope, loopne, jrcxz and jecxz, which have no long form.
bool is_count_branch(const StaticInstruction& instruction);

/// pushf.
bool pushes_flags(const StaticInstruction& instruction);

/// rdtsc and rdtscp.
bool reads_time_stamp(const StaticInstruction& instruction);

/// Whether all status flags after it are its own, and none of those before it matters to it.
bool overwrites_flags(const StaticInstruction& instruction);

/// `ret imm16`: the bytes that it takes from the stack besides the address; else 0.
std::uint16_t popped_by_return(const StaticInstruction& instruction);

/// Whether a string instruction reads through rsi, reads through rdi, or writes through rdi.
struct StringPointers {
    bool reads_source = false, reads_destination = false, writes_destination = false;
};
StringPointers string_pointers(const StaticInstruction& instruction);

}  // namespace tmaprobe::trace
