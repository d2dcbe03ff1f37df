#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace tmaprobe::trace {

/// Writes x86-64 machine code that can run inside another program without disturbing it: no stack, no flags, no
/// segment.
/// Its own memory is reached relative to the instruction pointer: slots, at the offsets below, near the code.
class CodeEmitter {
  public:
    enum Slot : std::uint32_t {
        saved_registers = 0,  ///< sixteen, by number: the program's own values while the code uses the registers
        trace_pointer = 128,
        jump_target = 136,
        jump_code = 144,
        saved_flags = 152,
        allowed_steps = 160,  ///< how many more may be executed; it falls below 0
        area_number = 168,    ///< tells areas of one process apart
        operands = 256,       ///< ShaOperands
        stack_top = 4088,     ///< of the stack of our own, on which routines are called
        slots_end = 4096,
    };

    /// Of code that will stand at `address`.
    CodeEmitter(std::uint64_t address, std::uint64_t slots) : origin_(address), slots_(slots) {}

    std::uint64_t here() const { return origin_ + bytes_.size(); }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

    void raw(std::initializer_list<std::uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes); }
    void append(const CodeEmitter& more) { bytes_.insert(bytes_.end(), more.bytes_.begin(), more.bytes_.end()); }
    void copy(const StaticInstruction& instruction);
    void store(unsigned reg, std::uint32_t slot) { slot_move(0x89, reg, slot); }
    void load(unsigned reg, std::uint32_t slot) { slot_move(0x8b, reg, slot); }
    void save(unsigned reg) { store(reg, saved_registers + 8 * reg); }
    void restore(unsigned reg) { load(reg, saved_registers + 8 * reg); }
    void constant(unsigned reg, std::uint64_t value);
    /// reg -> displacement(base) and back; base is not the stack pointer.
    void store_at(unsigned base, std::int32_t displacement, unsigned reg) { based(0x89, base, displacement, reg); }
    void load_at(unsigned reg, unsigned base, std::int32_t displacement) { based(0x8b, base, displacement, reg); }
    void store_constant_at(unsigned base, std::int32_t displacement, std::uint32_t value);
    /// reg += by, for any but the stack pointer.
    void advance(unsigned reg, std::int32_t by) { based(0x8d, reg, by, reg); }
    /// opcode 0x8d: rax = address; 0x8b: rax = what lies there. Of anything but an instruction pointer base.
    void operand_to_rax(std::uint8_t opcode, const MemoryOperand& memory);
    /// A number of 64 bits in memory, near the code, plus 1; minus `by`. Both change the flags.
    void count_up(std::uint64_t address);
    void count_down(std::uint64_t address, std::uint32_t by);
    /// Through rax.
    void save_flags();
    void restore_flags();
    void jump(std::uint64_t to);
    void conditional_jump(unsigned condition, std::uint64_t to);
    /// Five bytes that stop the program and can become a jump; their address.
    std::uint64_t trap();

    /// With rax and rcx saved: finds the code for the address in slot jump_target at its first place in the table and
    /// goes there; to `otherwise`, which is a second look, when it is not there.
    void first_look(std::uint64_t table, std::uint64_t otherwise);
    /// The same at its second place. When it is not there either, gives rax and rcx back and stops; returns the address
    /// at which it stops.
    std::uint64_t second_look(std::uint64_t table);
    /// The two places of an address, as offsets: one in each half of a table of 2 << 16 {negated address, code address}
    /// pairs.
    static std::uint64_t first_place(std::uint64_t address) { return (address & 0xffff) * 16; }
    static std::uint64_t second_place(std::uint64_t address) { return half_table_bytes + (address >> 8 & 0xffff) * 16; }
    static constexpr std::size_t half_table_bytes = std::size_t{16} << 16;
    static constexpr std::size_t table_bytes = 2 * half_table_bytes;

    /// With rax and rcx saved: goes to `otherwise` unless the bytes at `address` are these. Tells where it reads the
    /// program's memory.
    std::vector<std::uint64_t> compare(std::uint64_t address, const std::vector<std::uint8_t>& bytes,
                                       std::uint64_t otherwise);

    /// Instead of a SHA instruction: its operands, its arithmetic by the routine, its result. Tells where it reads the
    /// program's memory, with rax and rcx saved.
    std::vector<std::uint64_t> call_sha_routine(const StaticInstruction& instruction, std::uint64_t routine);

    /// The same instruction with its operand, relative to the instruction pointer, adjusted to where it stands now, or
    /// relative to the register `scratch`, whose own value is saved, and which is not restored.
    void copy_relocated(const StaticInstruction& instruction);
    void copy_based(const StaticInstruction& instruction, unsigned scratch);
    /// Whether the instruction's operand can be reached from here.
    bool reaches(const StaticInstruction& instruction) const;
    /// A register that the instruction does not use, to be given to copy_based(); -1: there is none, or the encoding
    /// is not understood.
    static int scratch_for(const StaticInstruction& instruction);

  private:
    void word32(std::uint32_t value);
    void word64(std::uint64_t value);
    void relative32(std::uint64_t to) { word32(static_cast<std::uint32_t>(to - (here() + 4))); }
    void slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot);
    void vector_slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot);
    void based(std::uint8_t opcode, unsigned base, std::int32_t displacement, unsigned reg);
    void address_to_rax(const StaticInstruction& instruction);
    /// With the pair's number in ecx: leaves zero in rcx if the pair is of the address in slot jump_target, and its
    /// code in slot jump_code.
    void compare_pair(std::uint64_t table);
    void jump_to_found_code();

    std::uint64_t origin_, slots_;
    std::vector<std::uint8_t> bytes_;
};

}  // namespace tmaprobe::trace
