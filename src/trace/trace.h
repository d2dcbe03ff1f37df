#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tmaprobe::trace {

/// A memory operand in terms of the registers a tracer can read: base + index * scale + displacement.
struct MemoryOperand {
    static constexpr std::int8_t none = -1;
    static constexpr std::int8_t instruction_pointer = 64;
    std::int8_t base = none, index = none;  ///< x86: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8.. r8..;
                                            ///< arm64: 0..30 x0.., 31 sp
    std::uint8_t scale = 1;
    char segment = 0;               ///< 'f' or 'g' on x86
    std::uint8_t index_bits = 64;   ///< arm64: 32 for an index in a w register
    bool index_signed = false;      ///< arm64: sxtw
    std::int64_t displacement = 0;  ///< with an instruction pointer base: from the end of the instruction
};

/// Why tracing ended before the number of instructions that was asked for.
enum class EndedEarly : std::uint8_t {
    none,
    breakpoint,          ///< int3, int1, into, int n: traps that are somebody's, and not the tracer's to meet
    trap_flag,           ///< the program single-steps itself
    transaction,         ///< xbegin: no transaction survives being traced
    legacy_system_call,  ///< int 0x80, sysenter
    vsyscall,            ///< the kernel's page of emulated system calls, whose code nobody can read
    undecodable,         ///< code that the disassembler does not know
};
/// As records have it: "breakpoint", "trap_flag", ...
std::string_view name_of(EndedEarly reason);

/// Which conditional jumps an x86 instruction may be one operation with, where it comes before one.
enum class FusesWith : std::uint8_t {
    none,
    any,                           ///< test, and
    those_of_no_sign,              ///< cmp, add, sub: not with jumps by sign, overflow or parity
    those_of_no_sign_and_no_carry  ///< inc, dec
};

/// What the tracer, the branch predictor and the front end need to know of one instruction in memory.
struct StaticInstruction {
    std::uint64_t address = 0;
    std::array<std::uint8_t, 16> bytes{};
    std::uint8_t length = 0;
    bool decoded = false;  ///< false: the disassembler does not know it; nothing below is valid

    bool loads = false, stores = false;
    bool explicit_memory = false;  ///< `memory` is an operand (also of an lea, which does not access it)
    MemoryOperand memory;
    bool push = false, pop = false;         ///< touches the stack through its pointer besides `memory`
    bool string = false, repeated = false;  ///< x86 movs, stos, ...: addresses are rsi and rdi
    std::uint8_t string_bytes = 0;
    bool plain_load = false;  ///< brings a value from memory and does nothing else with it
    bool prefetch = false;    ///< a hint: nothing waits for it
    bool gather = false;      ///< one address for each element, of which only the base is known

    bool branch = false, conditional = false, call = false, returns = false, indirect = false;
    std::uint64_t target = 0;  ///< of a direct branch
    bool far = false;  ///< x86: changes the code segment too; neither a call nor a return to the return predictor
    std::uint32_t general_registers = 0;  ///< x86: bit n: the instruction reads or writes register n, in any width
    std::uint32_t written_registers = 0;  ///< x86: and writes it
    bool locked = false;  ///< atomic: x86 with a lock prefix (or xchg with memory), arm64's atomics and exclusives
    bool system = false;  ///< leaves user mode, or its result depends on more than registers and memory
    EndedEarly ends = EndedEarly::none;  ///< it cannot be followed
    FusesWith fuses_with = FusesWith::none;
    std::uint8_t condition = 0;  ///< x86, of a conditional jump: as it is encoded
};

/// One instruction as it was executed.
struct Step {
    std::uint32_t instruction = 0;      ///< index into Trace::instructions
    std::uint64_t load = 0, store = 0;  ///< effective addresses; 0: none
    std::uint32_t regions = 0;          ///< those that were open: a number of RegionPaths
};

/// A run of consecutive instructions of one thread.
struct Trace {
    std::vector<StaticInstruction> instructions;
    std::vector<Step> steps;
};

/// Turns bytes into a StaticInstruction. Implemented by the core, which has a disassembler.
class Decoder {
  public:
    virtual ~Decoder() = default;
    /// `bytes` may be shorter than the longest instruction at the end of a mapping.
    virtual StaticInstruction decode(const std::uint8_t* bytes, std::size_t available, std::uint64_t address) = 0;
};

}  // namespace tmaprobe::trace
