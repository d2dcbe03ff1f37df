#pragma once

#include <cstdint>
#include <vector>

#include "counters/model/trace.h"

namespace tmaprobe::counters::model {

/// Writes x86-64 machine code that can run inside another program without disturbing it: no stack, no
/// flags. Its own memory is reached through the gs segment, at the offsets below.
class CodeEmitter {
  public:
    enum Slot : std::uint32_t {
        saved_rax = 0, saved_rcx = 8, saved_flags = 16, trace_pointer = 24, blocks_left = 32, jump_target = 40,
        jump_code = 48, saved_scratch = 56, saved_stack = 64,
        operands = 128,       ///< ShaOperands
        stack_top = 4088,     ///< of the stack of our own, on which routines are called
        slots_end = 4096,
    };
    static constexpr std::uint32_t lookup_table = slots_end;  ///< {guest address, code address} pairs
    static constexpr std::uint32_t lookup_entries = 4096;

    /// An instruction that touches the program's memory or may fault otherwise: where it is, and which register it
    /// finds changed for it, whose own value lies in a slot; -1: none.
    struct Access {
        std::uint64_t address = 0;
        int changed_register = -1;
        std::uint32_t slot = 0;
    };

    explicit CodeEmitter(std::uint64_t address) : origin_(address) {}

    std::uint64_t here() const { return origin_ + bytes_.size(); }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }
    const std::vector<Access>& accesses() const { return accesses_; }
    /// Entries that running through what was written adds to the trace.
    std::uint32_t entries() const { return entries_; }
    /// What is written next is an access.
    void access(int changed_register, std::uint32_t slot) { accesses_.push_back({here(), changed_register, slot}); }

    void raw(std::initializer_list<std::uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes); }
    void copy(const StaticInstruction& instruction);
    void store(unsigned reg, std::uint32_t slot);
    void load(unsigned reg, std::uint32_t slot);
    void constant(unsigned reg, std::uint64_t value);
    /// opcode 0x8d: rax = address; 0x8b: rax = what lies there. Of anything but an instruction pointer base.
    void operand_to_rax(std::uint8_t opcode, const MemoryOperand& memory);
    void jump(std::uint64_t to);
    void conditional_jump(unsigned condition, std::uint64_t to);
    std::uint64_t trap();  ///< five bytes that stop the program and can become a jump; their address

    /// Counts the block down and writes its number to the trace. Returns the address after the trap that
    /// is met when no blocks are left.
    std::uint64_t block_head(std::uint32_t number);
    /// With rax saved and an address in it: writes it to the trace and gives rax back.
    void record_rax();
    void record_address(const StaticInstruction& instruction);
    void record_stack(std::int32_t offset);
    void record_register(unsigned reg);
    void push_constant(std::uint64_t value);
    /// With rax saved: finds the code for the address in jump_target and goes there. Returns the address
    /// after the trap that is met when there is none.
    std::uint64_t lookup();
    /// Instead of a SHA instruction: its operands, its arithmetic by the routine, its result. `area` is what gs
    /// points to.
    void call_sha_routine(const StaticInstruction& instruction, std::uint64_t area, std::uint64_t routine);
    /// The same instruction with its operand relative to a free register instead of the instruction pointer.
    /// False when its encoding is not understood; nothing is written then.
    bool copy_absolute(const StaticInstruction& instruction);

  private:
    void word32(std::uint32_t value);
    void word64(std::uint64_t value);
    void slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot);
    void vector_slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot);
    void address_to_rax(const StaticInstruction& instruction);
    void save_flags();
    void restore_flags();

    std::uint64_t origin_;
    std::vector<std::uint8_t> bytes_;
    std::vector<Access> accesses_;
    std::uint32_t entries_ = 0;
};

/// Where the ModRM byte is; 0 when the encoding is not understood.
std::size_t modrm_offset(const StaticInstruction& instruction);

}  // namespace tmaprobe::counters::model
