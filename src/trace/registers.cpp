#include "trace/registers.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "trace/x86_encoding.h"

namespace tmaprobe::trace {

#if defined(__x86_64__)

std::uint64_t Registers::general(int number) const {
    switch (number) {
        case 0:
            return native.rax;
        case 1:
            return native.rcx;
        case 2:
            return native.rdx;
        case 3:
            return native.rbx;
        case 4:
            return native.rsp;
        case 5:
            return native.rbp;
        case 6:
            return native.rsi;
        case 7:
            return native.rdi;
        case 8:
            return native.r8;
        case 9:
            return native.r9;
        case 10:
            return native.r10;
        case 11:
            return native.r11;
        case 12:
            return native.r12;
        case 13:
            return native.r13;
        case 14:
            return native.r14;
        case 15:
            return native.r15;
        default:
            return 0;
    }
}
void Registers::set_general(int number, std::uint64_t value) {
    unsigned long long* const fields[] = {&native.rax, &native.rcx, &native.rdx, &native.rbx, &native.rsp, &native.rbp,
                                          &native.rsi, &native.rdi, &native.r8,  &native.r9,  &native.r10, &native.r11,
                                          &native.r12, &native.r13, &native.r14, &native.r15};
    *fields[number] = value;
}

std::uint64_t Registers::instruction_pointer() const { return native.rip; }
void Registers::set_instruction_pointer(std::uint64_t address) { native.rip = address; }
std::uint64_t Registers::stack_pointer() const { return native.rsp; }
std::uint64_t Registers::string_count() const { return native.rcx; }
bool Registers::single_steps_itself() const {
    constexpr unsigned long long trap_flag = 0x100;
    return native.eflags & trap_flag;
}
std::uint64_t Registers::segment_base(char segment) const {
    return segment == 'f' ? native.fs_base : segment == 'g' ? native.gs_base : 0;
}

bool runs_32_bit_code(const Registers& registers) {
    constexpr unsigned long long code_segment_32 = 0x23;  // Linux's selector for compatibility mode
    return registers.native.cs == code_segment_32;
}

bool is_plain_64_bit_code(const Registers& registers) {
    constexpr unsigned long long code_segment_64 = 0x33;
    return registers.native.cs == code_segment_64 && !registers.single_steps_itself();
}

bool awaits_restart(const Registers& registers) {
    // The kernel's own results of a system call, which the program never sees: ERESTARTSYS and its kin.
    constexpr long long lowest = -516, highest = -512;
    const auto result = static_cast<long long>(registers.native.rax);
    return static_cast<long long>(registers.native.orig_rax) >= 0 && result >= lowest && result <= highest;
}

#elif defined(__aarch64__)

std::uint64_t Registers::general(int number) const { return number < 31 ? native.regs[number] : native.sp; }
void Registers::set_general(int number, std::uint64_t value) {
    (number < 31 ? native.regs[number] : native.sp) = value;
}
std::uint64_t Registers::instruction_pointer() const { return native.pc; }
void Registers::set_instruction_pointer(std::uint64_t address) { native.pc = address; }
std::uint64_t Registers::stack_pointer() const { return native.sp; }
std::uint64_t Registers::string_count() const { return 0; }
bool Registers::single_steps_itself() const { return false; }
std::uint64_t Registers::segment_base(char) const { return 0; }

bool runs_32_bit_code(const Registers& registers) {
    constexpr std::uint64_t state_32 = 1u << 4;
    return registers.native.pstate & state_32;
}

bool is_plain_64_bit_code(const Registers& registers) { return !runs_32_bit_code(registers); }

bool awaits_restart(const Registers&) { return false; }

#endif

namespace {

std::uint64_t operand_address(const StaticInstruction& instruction, const Registers& registers) {
    const MemoryOperand& memory = instruction.memory;
    std::uint64_t address = static_cast<std::uint64_t>(memory.displacement) + registers.segment_base(memory.segment);
    if (memory.base == MemoryOperand::instruction_pointer)
        address += instruction.address + instruction.length;
    else if (memory.base != MemoryOperand::none)
        address += registers.general(memory.base);
    if (memory.index != MemoryOperand::none && !instruction.gather) {
        std::uint64_t index = registers.general(memory.index);
        if (memory.index_bits == 32)
            index = memory.index_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(index))
                                        : static_cast<std::uint32_t>(index);
        address += index * memory.scale;
    }
    return address;
}

}  // namespace

Step effective_addresses(const StaticInstruction& instruction, const Registers& registers) {
    Step step;
    if (!instruction.loads && !instruction.stores) return step;
    if (instruction.string) {
        // A repeated instruction with nothing left to do touches nothing.
        if (instruction.repeated && registers.string_count() == 0) return step;
        constexpr int source = 6, destination = 7;
        const StringPointers pointers = string_pointers(instruction);
        const std::uint64_t segment = registers.segment_base(x86_encoding(instruction).segment);
        if (pointers.reads_destination) step.load = registers.general(destination);
        if (pointers.reads_source) step.load = registers.general(source) + segment;
        if (pointers.writes_destination) step.store = registers.general(destination);
        return step;
    }
    std::uint64_t address = instruction.explicit_memory ? operand_address(instruction, registers) : 0;
    // An operand of pop that is relative to the stack pointer counts from where that is afterwards.
    constexpr std::int8_t stack_register = 4;
    if (instruction.pop && instruction.explicit_memory && instruction.memory.base == stack_register)
        address += stack_slot;
    const std::uint64_t stack = registers.stack_pointer();
    if (instruction.loads) step.load = instruction.pop && !instruction.explicit_memory ? stack : address;
    if (instruction.stores) step.store = instruction.push ? stack - stack_slot : address;
    if (instruction.pop && instruction.explicit_memory && instruction.stores) step.load = stack;
    return step;
}

Result<Registers> read_registers(pid_t thread) {
    Registers registers;
    iovec area{&registers.native, sizeof registers.native};
    if (::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &area) != 0) return fail_errno(errno, "cannot read registers");
#if defined(__x86_64__)
    // A 32-bit thread gives a shorter set: ask in the form that never changes.
    if (area.iov_len != sizeof registers.native && ::ptrace(PTRACE_GETREGS, thread, nullptr, &registers.native) != 0)
        return fail_errno(errno, "cannot read registers");
#endif
    return registers;
}

Result<> write_registers(pid_t thread, const Registers& registers) {
    iovec area{const_cast<user_regs_struct*>(&registers.native), sizeof registers.native};
    if (::ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &area) != 0) return fail_errno(errno, "cannot set registers");
    return {};
}

#if defined(__x86_64__)

namespace {
constexpr std::size_t xmm_offset = 160;      // in the legacy area of the extended state
constexpr std::size_t present_offset = 512;  // which components are in use
constexpr std::size_t largest_state = 16384;
}  // namespace

Result<VectorRegisters> VectorRegisters::read(pid_t thread) {
    VectorRegisters registers;
    registers.state_.resize(largest_state);
    iovec area{registers.state_.data(), registers.state_.size()};
    if (::ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &area) != 0)
        return fail_errno(errno, "cannot read vector registers");
    registers.state_.resize(area.iov_len);
    return registers;
}

VectorRegister VectorRegisters::get(unsigned number) const {
    VectorRegister value{};
    constexpr std::uint8_t sse = 2;
    // A component that is not in use is all zero, whatever its bytes say.
    if (state_[present_offset] & sse) std::memcpy(value.data(), state_.data() + xmm_offset + 16 * number, sizeof value);
    return value;
}

void VectorRegisters::set(unsigned number, const VectorRegister& value) {
    constexpr std::uint8_t sse = 2;
    if (!(state_[present_offset] & sse)) std::memset(state_.data() + xmm_offset, 0, std::size_t{16} * 16);
    state_[present_offset] |= sse;
    std::memcpy(state_.data() + xmm_offset + 16 * number, value.data(), sizeof value);
}

Result<> VectorRegisters::write(pid_t thread) const {
    iovec area{const_cast<std::uint8_t*>(state_.data()), state_.size()};
    if (::ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &area) != 0)
        return fail_errno(errno, "cannot set vector registers");
    return {};
}

#endif

}  // namespace tmaprobe::trace
