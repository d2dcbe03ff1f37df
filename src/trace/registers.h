#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace tmaprobe::trace {

/// The registers that addresses are made of, numbered as in MemoryOperand, over the kernel's own
/// structure so that setting them changes nothing else.
struct Registers {
#if defined(__aarch64__)
    user_regs_struct native{};
#else
    user_regs_struct native{};
#endif
    std::uint64_t general(int number) const;
    void set_general(int number, std::uint64_t value);
    std::uint64_t instruction_pointer() const;
    void set_instruction_pointer(std::uint64_t address);
    std::uint64_t stack_pointer() const;
    std::uint64_t segment_base(char segment) const;
    /// x86: the count register of string instructions.
    std::uint64_t string_count() const;
    /// x86: the program has set its trap flag.
    bool single_steps_itself() const;
};

/// Loads and stores of `instruction` if it executes with these registers.
Step effective_addresses(const StaticInstruction& instruction, const Registers& registers);

/// Errors: system; the thread must be stopped.
Result<Registers> read_registers(pid_t thread);
Result<> write_registers(pid_t thread, const Registers& registers);

/// True when the thread runs 32-bit code, which is refused.
bool runs_32_bit_code(const Registers& registers);

/// Neither 32-bit code, nor in a segment of its own, nor single-stepping itself.
bool is_plain_64_bit_code(const Registers& registers);

/// Whether a system call was interrupted and the kernel has still to decide if it starts again, which setting registers
/// would take away. Always false on Arm, where nothing sets them.
bool awaits_restart(const Registers& registers);

#if defined(__x86_64__)
using VectorRegister = std::array<std::uint32_t, 4>;

/// The sixteen low 128-bit vector registers of a stopped thread, by way of its extended state.
class VectorRegisters {
  public:
    static Result<VectorRegisters> read(pid_t thread);
    VectorRegister get(unsigned number) const;
    void set(unsigned number, const VectorRegister& value);
    Result<> write(pid_t thread) const;

  private:
    std::vector<std::uint8_t> state_;
};
#endif

}  // namespace tmaprobe::trace
