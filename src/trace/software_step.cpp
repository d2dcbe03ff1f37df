#include "trace/software_step.h"

#include <algorithm>

#include "trace/sha_routine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tmaprobe::trace {

#if defined(__x86_64__)
namespace {

// 0F 38 CB/CC/CD /r, optionally after a REX prefix.
struct Encoding {
    std::uint8_t opcode = 0, modrm = 0, rex = 0;
};

bool parse(const StaticInstruction& instruction, Encoding& out) {
    const auto& bytes = instruction.bytes;
    std::size_t at = 0;
    if ((bytes[at] & 0xf0) == 0x40) out.rex = bytes[at++];
    if (bytes[at] != 0x0f || bytes[at + 1] != 0x38 || bytes[at + 2] < 0xcb || bytes[at + 2] > 0xcd) return false;
    out.opcode = bytes[at + 2];
    out.modrm = bytes[at + 3];
    return true;
}

}  // namespace

bool can_step_in_software(const StaticInstruction& instruction) {
    Encoding encoding;
    return parse(instruction, encoding);
}

bool must_step_in_software(const StaticInstruction& instruction) {
    static const bool has_sha = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
    }();
    return !has_sha && can_step_in_software(instruction);
}

Result<> step_in_software(TracedProcess& process, const StaticInstruction& instruction, Registers& registers) {
    Encoding encoding;
    if (!parse(instruction, encoding))
        return fail(ErrorCode::unavailable, "this instruction cannot be stepped in software");
    auto vectors = TRY(VectorRegisters::read(process.pid()));
    const unsigned destination = ((encoding.modrm >> 3) & 7) | (encoding.rex & 4 ? 8u : 0u);
    VectorRegister source{};
    if ((encoding.modrm >> 6) == 3) {
        source = vectors.get((encoding.modrm & 7) | (encoding.rex & 1 ? 8u : 0u));
    } else {
        const Step step = effective_addresses(instruction, registers);
        if (process.read(step.load, source.data(), sizeof source) != sizeof source)
            return fail(ErrorCode::system, "an operand of a SHA instruction is not mapped");
    }
    VectorRegister result = vectors.get(destination);
    const VectorRegister keyed = vectors.get(0);
    ShaOperands operands{};
    std::copy(result.begin(), result.end(), operands.destination);
    std::copy(source.begin(), source.end(), operands.source);
    std::copy(keyed.begin(), keyed.end(), operands.keyed);
    tmaprobe_sha_in_software(&operands, encoding.opcode);
    std::copy(operands.destination, operands.destination + result.size(), result.begin());
    vectors.set(destination, result);
    if (auto done = vectors.write(process.pid()); !done) return done;
    registers.set_instruction_pointer(instruction.address + instruction.length);
    return process.set_registers(registers);
}

#else

bool can_step_in_software(const StaticInstruction&) { return false; }
bool must_step_in_software(const StaticInstruction&) { return false; }
Result<> step_in_software(TracedProcess&, const StaticInstruction&, Registers&) {
    return fail(ErrorCode::unavailable, "no instruction of this architecture is stepped in software");
}

#endif

}  // namespace tmaprobe::trace
