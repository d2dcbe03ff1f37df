#include "trace/x86_encoding.h"

#include <algorithm>
#include <cstring>

namespace tmaprobe::trace {
namespace {

constexpr auto one_byte = X86Encoding::one_byte, two_byte = X86Encoding::two_byte;

/// Takes one legacy prefix into account; false when the byte is none.
bool take_prefix(std::uint8_t byte, X86Encoding& out) {
    switch (byte) {
        case 0x66:
            out.operand_16 = true;
            return true;
        case 0x67:
            out.address_32 = true;
            return true;
        case 0xf0:
            out.lock = true;
            return true;
        case 0xf2:
            out.repne = true;
            return true;
        case 0xf3:
            out.rep = true;
            return true;
        case 0x64:
            out.segment = 'f';
            return true;
        case 0x65:
            out.segment = 'g';
            return true;
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x26:
            return true;
        default:
            return false;
    }
}

struct Parts {
    X86Encoding encoding;
    std::uint8_t modrm = 0;
    unsigned mod() const { return modrm >> 6; }
    unsigned operation() const { return modrm >> 3 & 7; }  ///< the opcode's extension, in a group
};

Parts parts_of(const StaticInstruction& instruction) {
    Parts parts;
    parts.encoding = x86_encoding(instruction);
    const std::size_t at = parts.encoding.opcode_at + 1;
    if (at < instruction.length) parts.modrm = instruction.bytes[at];
    return parts;
}

void no_branch(StaticInstruction& out) {
    out.branch = out.conditional = out.call = out.returns = out.indirect = out.far = false;
}

void near_branch(StaticInstruction& out, bool conditional, bool call, bool returns, bool indirect) {
    out.branch = true;
    out.conditional = conditional;
    out.call = call;
    out.returns = returns;
    out.indirect = indirect;
    out.far = false;
}

void far_branch(StaticInstruction& out) {
    near_branch(out, false, false, false, true);
    out.far = out.system = true;
}

bool is_group_5(const Parts& parts) { return parts.encoding.is(one_byte, 0xff); }

void classify_branch(const Parts& parts, StaticInstruction& out) {
    const X86Encoding& encoding = parts.encoding;
    no_branch(out);
    if (encoding.vector) return;
    const std::uint8_t code = encoding.opcode;
    if (encoding.map == two_byte) {
        if (code >= 0x80 && code <= 0x8f) near_branch(out, true, false, false, false);
        return;
    }
    if (encoding.map != one_byte) return;
    if ((code >= 0x70 && code <= 0x7f) || (code >= 0xe0 && code <= 0xe3)) near_branch(out, true, false, false, false);
    if (code == 0xe9 || code == 0xeb) near_branch(out, false, false, false, false);
    if (code == 0xe8) near_branch(out, false, true, false, false);
    if (code == 0xc2 || code == 0xc3) near_branch(out, false, false, true, true);
    if (is_group_5(parts) && parts.operation() == 2) near_branch(out, false, true, false, true);
    if (is_group_5(parts) && parts.operation() == 4) near_branch(out, false, false, false, true);
    const bool far_of_group = is_group_5(parts) && (parts.operation() == 3 || parts.operation() == 5);
    if (code == 0xca || code == 0xcb || code == 0xcf || far_of_group) far_branch(out);
    // What a 16-bit operand does to a branch depends on the vendor.
    if (out.branch && encoding.operand_16) out.system = true;
}

void classify_stack(const Parts& parts, StaticInstruction& out) {
    const X86Encoding& encoding = parts.encoding;
    const std::uint8_t code = encoding.opcode;
    const bool one = !encoding.vector && encoding.map == one_byte, two = !encoding.vector && encoding.map == two_byte;
    const bool segment = two && (code == 0xa0 || code == 0xa1 || code == 0xa8 || code == 0xa9);
    out.push = out.call || (one && ((code >= 0x50 && code <= 0x57) || code == 0x68 || code == 0x6a || code == 0x9c)) ||
               (is_group_5(parts) && parts.operation() == 6) || (segment && !(code & 1));
    const bool pops = one && ((code >= 0x58 && code <= 0x5f) || code == 0x8f || code == 0x9d);
    out.pop = out.returns || pops || (segment && code & 1);
    constexpr std::uint32_t stack_pointer = 1u << rsp, frame_pointer = 1u << 5;
    const bool enters = encoding.is(one_byte, 0xc8);
    std::uint32_t moved = out.push || out.pop ? stack_pointer : 0;
    if (enters) moved = stack_pointer | frame_pointer;
    out.general_registers |= moved;
    out.written_registers |= moved;
}

void classify_string(const Parts& parts, StaticInstruction& out) {
    const X86Encoding& encoding = parts.encoding;
    const std::uint8_t code = encoding.opcode;
    const bool one = !encoding.vector && encoding.map == one_byte;
    out.string = one && ((code >= 0xa4 && code <= 0xa7) || (code >= 0xaa && code <= 0xaf));
    if (!out.string) return;
    out.string_bytes = !(code & 1) ? 1 : encoding.wide() ? 8 : encoding.operand_16 ? 2 : 4;
    out.repeated = encoding.rep || encoding.repne;
    const StringPointers pointers = string_pointers(out);
    out.loads = pointers.reads_source || pointers.reads_destination;
    out.stores = pointers.writes_destination;
    constexpr std::uint32_t count = 1u << 1, source = 1u << 6, destination = 1u << 7;
    const std::uint32_t moved = (pointers.reads_source ? source : 0) | (code < 0xac || code > 0xad ? destination : 0) |
                                (out.repeated ? count : 0);
    out.general_registers |= moved;
    out.written_registers |= moved;
}

/// Of the group 0F 01 with register operands, what does the same in any place and in user mode: xtest, rdpkru, wrpkru,
/// monitorx, mwaitx and clzero. What xgetbv answers may be changed (Tracer::on_xgetbv).
bool is_harmless_of_group_7(std::uint8_t modrm) {
    constexpr std::uint8_t harmless[] = {0xd6, 0xee, 0xef, 0xfa, 0xfb, 0xfc};
    return std::find(std::begin(harmless), std::end(harmless), modrm) != std::end(harmless);
}

/// Executed where it stands: what needs the kernel, changes a segment or the trap flag, tells the time or what the
/// machine is, or faults.
bool must_stand_where_it_is(const Parts& parts) {
    const X86Encoding& encoding = parts.encoding;
    if (encoding.vector) return false;
    if (encoding.map == one_byte) {
        switch (encoding.opcode) {
            // mov to a segment, popf, hlt, cli, sti
            case 0x8e:
            case 0x9d:
            case 0xf4:
            case 0xfa:
            case 0xfb:
            case 0x6c:
            case 0x6d:
            case 0x6e:
            case 0x6f:  // ins, outs
            case 0xe4:
            case 0xe5:
            case 0xe6:
            case 0xe7:
            case 0xec:
            case 0xed:
            case 0xee:
            case 0xef:  // in, out
                return true;
            default:
                return false;
        }
    }
    if (encoding.map != two_byte) return false;
    switch (encoding.opcode) {
        case 0x05:
        case 0x07:
        case 0x35:  // syscall, sysret, sysexit
        case 0x0b:
        case 0xb9:
        case 0xff:  // ud2, ud1, ud0
        case 0xa1:
        case 0xa9:  // pop to fs, gs
        case 0xb2:
        case 0xb4:
        case 0xb5:  // lss, lfs, lgs
        case 0x31:  // rdtsc
        case 0xa2:  // cpuid
        case 0x00:  // lldt and its kin
            return true;
        case 0x01:
            return parts.mod() == 3 && !is_harmless_of_group_7(parts.modrm);
        case 0xae:  // wrfsbase, wrgsbase
            return encoding.rep && parts.mod() == 3 && (parts.operation() == 2 || parts.operation() == 3);
        default:
            return false;
    }
}

EndedEarly cannot_be_followed(const Parts& parts, const StaticInstruction& instruction) {
    const X86Encoding& encoding = parts.encoding;
    constexpr std::uint8_t linux_system_call = 0x80;
    if (encoding.is(one_byte, 0xcd))
        return instruction.bytes[encoding.opcode_at + 1] == linux_system_call ? EndedEarly::legacy_system_call
                                                                              : EndedEarly::breakpoint;
    const bool traps = encoding.is(one_byte, 0xcc) || encoding.is(one_byte, 0xce) || encoding.is(one_byte, 0xf1);
    if (traps) return EndedEarly::breakpoint;
    if (encoding.is(two_byte, 0x34)) return EndedEarly::legacy_system_call;
    if (encoding.is(one_byte, 0xc7) && parts.modrm == 0xf8) return EndedEarly::transaction;
    return EndedEarly::none;
}

std::int64_t immediate(const StaticInstruction& instruction, std::size_t bytes) {
    const std::uint8_t* at = instruction.bytes.data() + instruction.length - bytes;
    if (bytes == 1) return static_cast<std::int8_t>(*at);
    std::int32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// Of a direct branch, from its end.
std::int64_t displacement(const Parts& parts, const StaticInstruction& branch) {
    const std::uint8_t code = parts.encoding.opcode;
    const bool near_32 = parts.encoding.map == two_byte || code == 0xe8 || code == 0xe9;
    return immediate(branch, near_32 ? 4 : 1);
}

}  // namespace

std::string_view name_of(EndedEarly reason) {
    switch (reason) {
        case EndedEarly::none:
            return "none";
        case EndedEarly::breakpoint:
            return "breakpoint";
        case EndedEarly::trap_flag:
            return "trap_flag";
        case EndedEarly::transaction:
            return "transaction";
        case EndedEarly::legacy_system_call:
            return "legacy_system_call";
        case EndedEarly::vsyscall:
            return "vsyscall";
        case EndedEarly::undecodable:
            return "undecodable";
    }
    return "none";
}

X86Encoding x86_encoding(const StaticInstruction& instruction) {
    const auto& bytes = instruction.bytes;
    X86Encoding out;
    std::size_t at = 0;
    const auto byte = [&](std::size_t i) { return i < bytes.size() ? bytes[i] : std::uint8_t{0}; };
    const auto is_rex = [&](std::size_t i) { return (byte(i) & 0xf0) == 0x40; };
    // A REX prefix that another prefix follows means nothing.
    X86Encoding ignored;
    const auto means_nothing = [&] { return is_rex(at) && take_prefix(byte(at + 1), ignored); };
    while (at < instruction.length && (take_prefix(bytes[at], out) || means_nothing())) ++at;
    out.prefixes = at;
    const auto vector = [&](std::uint8_t map, std::size_t opcode_at) {
        out.vector = true;
        out.map = map;
        at = opcode_at;
    };
    constexpr std::uint8_t map_bits = 31, evex_map_bits = 7, first_xop_map = 8;
    if (byte(at) == 0xc5)
        vector(two_byte, at + 2);
    else if (byte(at) == 0xc4 || (byte(at) == 0x8f && (byte(at + 1) & map_bits) >= first_xop_map))
        vector(byte(at + 1) & map_bits, at + 3);
    else if (byte(at) == 0x62)
        vector(byte(at + 1) & evex_map_bits, at + 4);
    else {
        if (is_rex(at)) out.rex = byte(at++);
        if (byte(at) == 0x0f) {
            ++at;
            out.map = two_byte;
            if (byte(at) == 0x38) out.map = X86Encoding::three_byte_38;
            if (byte(at) == 0x3a) out.map = X86Encoding::three_byte_3a;
            if (out.map != two_byte) ++at;
        }
    }
    out.opcode_at = at;
    out.opcode = byte(at);
    return out;
}

std::size_t modrm_offset(const StaticInstruction& instruction) { return x86_encoding(instruction).opcode_at + 1; }

void classify_x86(StaticInstruction& instruction) {
    const Parts parts = parts_of(instruction);
    classify_branch(parts, instruction);
    if (instruction.branch && !instruction.indirect)
        instruction.target =
            instruction.address + instruction.length + static_cast<std::uint64_t>(displacement(parts, instruction));
    classify_stack(parts, instruction);
    classify_string(parts, instruction);
    instruction.ends = cannot_be_followed(parts, instruction);
    if (must_stand_where_it_is(parts) || instruction.ends != EndedEarly::none) instruction.system = true;
}

PointerStep pointer_step(const StaticInstruction& instruction) {
    const Parts parts = parts_of(instruction);
    const X86Encoding& encoding = parts.encoding;
    if (encoding.vector || encoding.map != one_byte || encoding.operand_16) return {};
    constexpr std::int64_t word = 8;
    const std::uint8_t code = encoding.opcode;
    const int high = encoding.rex & 1 ? 8 : 0;
    const bool pops_rsp = code == 0x58 + rsp && !high;
    if (instruction.push && !instruction.branch) return {rsp, -word};
    if (instruction.pop && !instruction.branch && !pops_rsp) return {rsp, word};
    if (!encoding.wide()) return {};
    const int reg = static_cast<int>(parts.modrm & 7) | high;
    if (parts.mod() == 3 && (code == 0x83 || code == 0x81) && (parts.operation() == 0 || parts.operation() == 5)) {
        const std::int64_t by = immediate(instruction, code == 0x83 ? 1 : 4);
        return {reg, parts.operation() == 0 ? by : -by};
    }
    if (parts.mod() == 3 && code == 0xff && parts.operation() < 2) return {reg, parts.operation() == 0 ? 1 : -1};
    const MemoryOperand& memory = instruction.memory;
    const int target = static_cast<int>(parts.operation()) | (encoding.rex & 4 ? 8 : 0);
    if (code == 0x8d && memory.base == target && memory.index == MemoryOperand::none && !encoding.address_32)
        return {target, memory.displacement};
    return {};
}

int jump_condition(const StaticInstruction& instruction) {
    const X86Encoding encoding = x86_encoding(instruction);
    const bool short_one = !encoding.vector && encoding.map == one_byte && (encoding.opcode & 0xf0) == 0x70;
    const bool long_one = !encoding.vector && encoding.map == two_byte && (encoding.opcode & 0xf0) == 0x80;
    return short_one || long_one ? encoding.opcode & 15 : -1;
}

bool is_count_branch(const StaticInstruction& instruction) {
    const X86Encoding encoding = x86_encoding(instruction);
    return !encoding.vector && encoding.map == one_byte && (encoding.opcode & 0xfc) == 0xe0;
}

bool pushes_flags(const StaticInstruction& instruction) {
    return instruction.push && x86_encoding(instruction).is(one_byte, 0x9c);  // nothing pushes on another architecture
}

bool reads_time_stamp(const StaticInstruction& instruction) {
    const Parts parts = parts_of(instruction);
    return parts.encoding.is(two_byte, 0x31) || (parts.encoding.is(two_byte, 0x01) && parts.modrm == 0xf9);
}

bool overwrites_flags(const StaticInstruction& instruction) {
    const X86Encoding encoding = x86_encoding(instruction);
    if (encoding.vector || encoding.map != X86Encoding::one_byte) return false;
    // add, or, adc, sbb, and, sub, xor, cmp, by their number in encodings; adc and sbb read the carry.
    const auto is_arithmetic = [](unsigned number) { return number != 2 && number != 3; };
    const unsigned opcode = encoding.opcode;
    const unsigned field = instruction.bytes[encoding.opcode_at + 1] >> 3 & 7;
    constexpr unsigned test = 0, test_too = 1, negate = 3;
    switch (opcode) {
        case 0x80:
        case 0x81:
        case 0x83:
            return is_arithmetic(field);
        case 0x84:
        case 0x85:
        case 0xa8:
        case 0xa9:
            return true;
        case 0xf6:
        case 0xf7:
            return field == test || field == test_too || field == negate;
        default:
            return opcode < 0x40 && (opcode & 7) < 6 && is_arithmetic(opcode >> 3);
    }
}

std::uint16_t popped_by_return(const StaticInstruction& instruction) {
    const X86Encoding encoding = x86_encoding(instruction);
    if (!encoding.is(one_byte, 0xc2)) return 0;
    std::uint16_t bytes = 0;
    std::memcpy(&bytes, instruction.bytes.data() + encoding.opcode_at + 1, sizeof bytes);
    return bytes;
}

StringPointers string_pointers(const StaticInstruction& instruction) {
    switch (x86_encoding(instruction).opcode & 0xfe) {
        case 0xa4:
            return {true, false, true};
        case 0xa6:
            return {true, true, false};
        case 0xaa:
            return {false, false, true};
        case 0xac:
            return {true, false, false};
        case 0xae:
            return {false, true, false};
        default:
            return {};
    }
}

}  // namespace tmaprobe::trace
