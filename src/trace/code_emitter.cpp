#include "trace/code_emitter.h"

#include <algorithm>
#include <cstring>

#include "trace/x86_encoding.h"

namespace tmaprobe::trace {
namespace {

bool fits_32(std::int64_t value) { return value == static_cast<std::int32_t>(value); }

std::uint64_t own_operand_address(const StaticInstruction& instruction) {
    return instruction.address + instruction.length + static_cast<std::uint64_t>(instruction.memory.displacement);
}

}  // namespace

void CodeEmitter::word32(std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void CodeEmitter::word64(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void CodeEmitter::copy(const StaticInstruction& instruction) {
    bytes_.insert(bytes_.end(), instruction.bytes.begin(), instruction.bytes.begin() + instruction.length);
}

void CodeEmitter::slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot) {
    raw({static_cast<std::uint8_t>(0x48 | (reg >> 3) << 2), opcode, static_cast<std::uint8_t>((reg & 7) << 3 | 5)});
    relative32(slots_ + slot);
}

void CodeEmitter::vector_slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot) {
    raw({static_cast<std::uint8_t>(0x40 | (reg >> 3) << 2), 0x0f, opcode,
         static_cast<std::uint8_t>((reg & 7) << 3 | 5)});
    relative32(slots_ + slot);
}

void CodeEmitter::based(std::uint8_t opcode, unsigned base, std::int32_t displacement, unsigned reg) {
    const bool small = displacement == static_cast<std::int8_t>(displacement);
    const unsigned mode = small ? 0x40 : 0x80;
    raw({static_cast<std::uint8_t>(0x48 | (reg >> 3) << 2 | base >> 3), opcode,
         static_cast<std::uint8_t>(mode | (reg & 7) << 3 | (base & 7))});
    if ((base & 7) == rsp) raw({0x24});  // r12 is encoded with a second byte
    if (small)
        raw({static_cast<std::uint8_t>(displacement)});
    else
        word32(static_cast<std::uint32_t>(displacement));
}

void CodeEmitter::store_constant_at(unsigned base, std::int32_t displacement, std::uint32_t value) {
    based(0xc7, base, displacement, 0);
    word32(value);
}

void CodeEmitter::constant(unsigned reg, std::uint64_t value) {
    if (value == static_cast<std::uint32_t>(value)) {
        if (reg >= 8) raw({0x41});
        raw({static_cast<std::uint8_t>(0xb8 | (reg & 7))});
        return word32(static_cast<std::uint32_t>(value));
    }
    raw({static_cast<std::uint8_t>(0x48 | reg >> 3), static_cast<std::uint8_t>(0xb8 | (reg & 7))});
    word64(value);
}

void CodeEmitter::operand_to_rax(std::uint8_t opcode, const MemoryOperand& memory) {
    constexpr unsigned no_index = 4, no_base = 5;
    constexpr std::uint8_t fs_prefix = 0x64, gs_prefix = 0x65, address_of = 0x8d;
    const unsigned index = memory.index == MemoryOperand::none ? no_index : static_cast<unsigned>(memory.index);
    const unsigned scale = memory.scale == 8 ? 3 : memory.scale == 4 ? 2 : memory.scale == 2 ? 1 : 0;
    const bool has_base = memory.base != MemoryOperand::none;
    const unsigned base = has_base ? static_cast<unsigned>(memory.base) : no_base;
    if (memory.segment && opcode != address_of) raw({memory.segment == 'f' ? fs_prefix : gs_prefix});
    raw({static_cast<std::uint8_t>(0x48 | (index >> 3) << 1 | base >> 3), opcode,
         static_cast<std::uint8_t>(has_base ? 0x84 : 0x04),
         static_cast<std::uint8_t>(scale << 6 | (index & 7) << 3 | (base & 7))});
    word32(static_cast<std::uint32_t>(memory.displacement));
}

void CodeEmitter::count_up(std::uint64_t address) {
    constexpr std::uint64_t constant_bytes = 1;
    raw({0x48, 0x83, 0x05});  // addq $1, address(%rip)
    relative32(address - constant_bytes);
    raw({1});
}

void CodeEmitter::count_down(std::uint64_t address, std::uint32_t by) {
    constexpr std::uint64_t constant_bytes = 4;
    raw({0x48, 0x81, 0x2d});  // subq $by, address(%rip)
    relative32(address - constant_bytes);
    word32(by);
}

void CodeEmitter::jump(std::uint64_t to) {
    raw({0xe9});
    relative32(to);
}

void CodeEmitter::conditional_jump(unsigned condition, std::uint64_t to) {
    raw({0x0f, static_cast<std::uint8_t>(0x80 | condition)});
    relative32(to);
}

std::uint64_t CodeEmitter::trap() {
    const std::uint64_t at = here();
    raw({0xcc, 0xcc, 0xcc, 0xcc, 0xcc});
    return at;
}

void CodeEmitter::compare_pair(std::uint64_t table) {
    raw({0x8d, 0x0c, 0x09});  // lea (%rcx,%rcx), %ecx
    raw({0x48, 0x8d, 0x05});  // lea table(%rip), %rax
    relative32(table);
    raw({0x48, 0x8d, 0x0c, 0xc8});  // lea (%rax,%rcx,8), %rcx
    load_at(rax, rcx, 8);
    store(rax, jump_code);
    load_at(rax, rcx, 0);
    load(rcx, jump_target);
    raw({0x48, 0x8d, 0x0c, 0x08});  // lea (%rax,%rcx), %rcx
}

void CodeEmitter::jump_to_found_code() {
    restore(rcx);
    restore(rax);
    raw({0xff, 0x25});  // jmp *jump_code(%rip)
    relative32(slots_ + jump_code);
}

void CodeEmitter::first_look(std::uint64_t table, std::uint64_t otherwise) {
    load(rax, jump_target);
    raw({0x0f, 0xb7, 0xc8});  // movzwl %ax, %ecx
    compare_pair(table);
    raw({0xe3, 0x05});  // jrcxz over the next jump
    jump(otherwise);
    jump_to_found_code();
}

std::uint64_t CodeEmitter::second_look(std::uint64_t table) {
    raw({0x0f, 0xb7, 0x0d});  // movzwl jump_target+1(%rip), %ecx
    relative32(slots_ + jump_target + 1);
    compare_pair(table + half_table_bytes);
    raw({0xe3, 0x0f});  // jrcxz over what stops
    restore(rcx);
    restore(rax);
    raw({0xcc});
    const std::uint64_t stop = here();
    jump_to_found_code();
    return stop;
}

std::vector<std::uint64_t> CodeEmitter::compare(std::uint64_t address, const std::vector<std::uint8_t>& bytes,
                                                std::uint64_t otherwise) {
    std::vector<std::uint64_t> reads;
    const auto is_equal = [&](std::uint32_t expected) {
        raw({0x8d, 0x89});  // lea -expected(%rcx), %ecx
        word32(~expected + 1);
        raw({0xe3, 0x05});
        jump(otherwise);
    };
    constexpr std::size_t word = 4;
    constant(rax, address);
    std::size_t done = 0;
    while (done < bytes.size()) {
        // The last word may overlap the one before it.
        const std::size_t at = bytes.size() < word ? done : std::min(done, bytes.size() - word);
        reads.push_back(here());
        std::uint32_t expected = 0;
        if (bytes.size() < word) {
            raw({0x0f, 0xb6, 0x88});  // movzbl at(%rax), %ecx
            word32(static_cast<std::uint32_t>(at));
            expected = bytes[at];
            done = at + 1;
        } else {
            raw({0x8b, 0x88});  // mov at(%rax), %ecx
            word32(static_cast<std::uint32_t>(at));
            std::memcpy(&expected, bytes.data() + at, word);
            done = at + word;
        }
        is_equal(expected);
    }
    return reads;
}

void CodeEmitter::address_to_rax(const StaticInstruction& instruction) {
    constexpr std::uint8_t address_of = 0x8d;
    if (instruction.memory.base == MemoryOperand::instruction_pointer)
        constant(rax, own_operand_address(instruction));
    else
        operand_to_rax(address_of, instruction.memory);
}

void CodeEmitter::save_flags() {
    raw({0x9f, 0x0f, 0x90, 0xc0});  // lahf; seto %al
    store(rax, saved_flags);
}

void CodeEmitter::restore_flags() {
    load(rax, saved_flags);
    raw({0x04, 0x7f, 0x9e});  // add $127, %al sets the overflow flag from al; sahf the others
}

std::vector<std::uint64_t> CodeEmitter::call_sha_routine(const StaticInstruction& instruction, std::uint64_t routine) {
    constexpr unsigned register_bytes = 16;
    constexpr std::uint8_t vector_store = 0x11, vector_load = 0x10;  // movups
    const std::size_t modrm = modrm_offset(instruction);
    const std::uint8_t rex = x86_encoding(instruction).rex, fields = instruction.bytes[modrm];
    const unsigned destination = (fields >> 3 & 7) | (rex & 4 ? 8u : 0u);
    std::vector<std::uint64_t> reads;
    save_flags();
    vector_slot_move(vector_store, destination, operands);
    vector_slot_move(vector_store, 0, operands + 2 * register_bytes);
    restore(rax);
    if ((fields >> 6) == 3) {
        vector_slot_move(vector_store, (fields & 7) | (rex & 1 ? 8u : 0u), operands + register_bytes);
    } else {
        address_to_rax(instruction);
        for (const unsigned half : {0u, 8u}) {
            reads.push_back(here());
            load_at(rcx, rax, static_cast<std::int32_t>(half));
            store(rcx, operands + register_bytes + half);
        }
    }
    save(rsp);
    constant(rsp, slots_ + stack_top);
    raw({0x52, 0x56, 0x57, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53});  // push what a call may change
    constant(rdi, slots_ + operands);
    constant(rsi, instruction.bytes[modrm - 1]);
    constant(rax, routine);
    raw({0xff, 0xd0});  // call *%rax
    raw({0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a});
    restore(rsp);
    vector_slot_move(vector_load, destination, operands);
    restore_flags();
    restore(rax);
    restore(rcx);
    return reads;
}

bool CodeEmitter::reaches(const StaticInstruction& instruction) const {
    return fits_32(static_cast<std::int64_t>(own_operand_address(instruction) - (here() + instruction.length)));
}

void CodeEmitter::copy_relocated(const StaticInstruction& instruction) {
    StaticInstruction changed = instruction;
    const auto displacement =
        static_cast<std::uint32_t>(own_operand_address(instruction) - (here() + instruction.length));
    std::memcpy(changed.bytes.data() + modrm_offset(instruction) + 1, &displacement, sizeof displacement);
    copy(changed);
}

int CodeEmitter::scratch_for(const StaticInstruction& instruction) {
    constexpr std::uint8_t mode_and_base = 0xc7, relative = 0x05;
    const std::size_t modrm = modrm_offset(instruction);
    if (modrm + 5 > instruction.length || (instruction.bytes[modrm] & mode_and_base) != relative) return -1;
    if (x86_encoding(instruction).address_32) return -1;
    for (const int candidate : {7, 6, 3, 2, 1, 0})
        if (!(instruction.general_registers >> candidate & 1)) return candidate;
    return -1;
}

void CodeEmitter::copy_based(const StaticInstruction& instruction, unsigned scratch) {
    StaticInstruction changed = instruction;
    const X86Encoding encoding = x86_encoding(instruction);
    const std::size_t modrm = encoding.opcode_at + 1;
    // The extension bit of the base register means nothing in the original form; it must be clear (set in the inverted
    // encodings).
    std::uint8_t& first = changed.bytes[encoding.prefixes];
    constexpr std::uint8_t vex_3 = 0xc4, evex = 0x62, xop = 0x8f, inverted_base = 0x20;
    const bool inverts = encoding.vector && (first == vex_3 || first == evex || first == xop);
    if (inverts) changed.bytes[encoding.prefixes + 1] |= inverted_base;
    if (!encoding.vector && encoding.rex) first &= 0xfe;
    changed.bytes[modrm] = static_cast<std::uint8_t>((changed.bytes[modrm] & 0x38) | 0x80 | scratch);
    std::memset(changed.bytes.data() + modrm + 1, 0, 4);
    copy(changed);
}

}  // namespace tmaprobe::trace
