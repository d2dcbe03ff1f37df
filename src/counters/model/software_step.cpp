#include "counters/model/software_step.h"

#include <bit>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tmaprobe::counters::model {

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

// FIPS 180-4's functions of the SHA-256 schedule and round.
std::uint32_t small_sigma0(std::uint32_t x) { return std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3); }
std::uint32_t small_sigma1(std::uint32_t x) { return std::rotr(x, 17) ^ std::rotr(x, 19) ^ (x >> 10); }
std::uint32_t big_sigma0(std::uint32_t x) { return std::rotr(x, 2) ^ std::rotr(x, 13) ^ std::rotr(x, 22); }
std::uint32_t big_sigma1(std::uint32_t x) { return std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25); }

// The register holds two of the eight state words a..h per operand: {F, E, B, A} and {H, G, D, C}, lowest first.
VectorRegister two_rounds(const VectorRegister& cdgh, const VectorRegister& abef, const VectorRegister& keyed) {
    std::uint32_t a = abef[3], b = abef[2], e = abef[1], f = abef[0];
    std::uint32_t c = cdgh[3], d = cdgh[2], g = cdgh[1], h = cdgh[0];
    for (int round = 0; round < 2; ++round) {
        const std::uint32_t first = h + big_sigma1(e) + ((e & f) ^ (~e & g)) + keyed[round];
        const std::uint32_t second = big_sigma0(a) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    return {f, e, b, a};
}

VectorRegister schedule_first(const VectorRegister& words, const VectorRegister& next) {
    return {words[0] + small_sigma0(words[1]), words[1] + small_sigma0(words[2]), words[2] + small_sigma0(words[3]),
            words[3] + small_sigma0(next[0])};
}

VectorRegister schedule_second(const VectorRegister& partial, const VectorRegister& words) {
    VectorRegister out{};
    out[0] = partial[0] + small_sigma1(words[2]);
    out[1] = partial[1] + small_sigma1(words[3]);
    out[2] = partial[2] + small_sigma1(out[0]);
    out[3] = partial[3] + small_sigma1(out[1]);
    return out;
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
    if (!parse(instruction, encoding)) return fail(ErrorCode::unavailable, "this instruction cannot be stepped in software");
    auto vectors = VectorRegisters::read(process.thread());
    if (!vectors) return pass_on(vectors);
    const unsigned destination = ((encoding.modrm >> 3) & 7) | (encoding.rex & 4 ? 8u : 0u);
    VectorRegister source{};
    if ((encoding.modrm >> 6) == 3) {
        source = vectors->get((encoding.modrm & 7) | (encoding.rex & 1 ? 8u : 0u));
    } else {
        const Step step = effective_addresses(instruction, registers);
        if (process.read(step.load, source.data(), sizeof source) != sizeof source)
            return fail(ErrorCode::system, "an operand of a SHA instruction is not mapped");
    }
    const VectorRegister before = vectors->get(destination);
    if (encoding.opcode == 0xcb)
        vectors->set(destination, two_rounds(before, source, vectors->get(0)));
    else if (encoding.opcode == 0xcc)
        vectors->set(destination, schedule_first(before, source));
    else
        vectors->set(destination, schedule_second(before, source));
    if (auto done = vectors->write(process.thread()); !done) return done;
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

}  // namespace tmaprobe::counters::model
