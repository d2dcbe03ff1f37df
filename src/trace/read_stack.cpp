#include "trace/read_stack.h"

namespace tmaprobe::trace {
namespace {

/// By DWARF's numbers (System V ABI of each architecture).
std::vector<std::uint64_t> numbered_by_dwarf(const Registers& registers) {
#if defined(__aarch64__)
    std::vector<std::uint64_t> values(std::begin(registers.native.regs), std::end(registers.native.regs));
    values.push_back(registers.native.sp);
    return values;
#else
    const auto& r = registers.native;
    return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
            r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
#endif
}

}  // namespace

std::optional<process::StackTop> read_stack_top(const TracedProcess& process) {
    // A hundred calls deep, mostly; what lies further out is left away.
    constexpr std::size_t most_words = 4096, red_zone = 128, word = sizeof(std::uint64_t);
    const auto registers = process.registers();
    if (!registers) return std::nullopt;
    process::StackTop top;
    top.instruction_pointer = registers->instruction_pointer();
    top.registers = numbered_by_dwarf(*registers);
    top.begin = (registers->stack_pointer() - red_zone) / word * word;
    top.words.resize(most_words);
    top.words.resize(process.read(top.begin, top.words.data(), most_words * word) / word);
    if (top.words.empty()) return std::nullopt;
    return top;
}

}  // namespace tmaprobe::trace
