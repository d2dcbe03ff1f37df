#include "counters/model/code_emitter.h"

#include <cstring>

namespace tmaprobe::counters::model {
namespace {

constexpr unsigned rax = 0, rcx = 1;
constexpr std::uint8_t gs_prefix = 0x65;

bool is_legacy_prefix(std::uint8_t byte) {
    switch (byte) {
        case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3: case 0x2e: case 0x36: case 0x3e: case 0x26: case 0x64: case 0x65: return true;
        default: return false;
    }
}

}  // namespace

void CodeEmitter::word32(std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void CodeEmitter::word64(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void CodeEmitter::copy(const StaticInstruction& instruction) {
    access(-1, 0);
    bytes_.insert(bytes_.end(), instruction.bytes.begin(), instruction.bytes.begin() + instruction.length);
}

void CodeEmitter::slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot) {
    raw({gs_prefix, static_cast<std::uint8_t>(0x48 | (reg >> 3) << 2), opcode, static_cast<std::uint8_t>((reg & 7) << 3 | 4), 0x25});
    word32(slot);
}

void CodeEmitter::store(unsigned reg, std::uint32_t slot) { slot_move(0x89, reg, slot); }
void CodeEmitter::load(unsigned reg, std::uint32_t slot) { slot_move(0x8b, reg, slot); }

void CodeEmitter::constant(unsigned reg, std::uint64_t value) {
    raw({static_cast<std::uint8_t>(0x48 | reg >> 3), static_cast<std::uint8_t>(0xb8 | (reg & 7))});
    word64(value);
}

void CodeEmitter::operand_to_rax(std::uint8_t opcode, const MemoryOperand& memory) {
    constexpr unsigned no_index = 4, no_base = 5;
    const unsigned index = memory.index == MemoryOperand::none ? no_index : static_cast<unsigned>(memory.index);
    const unsigned scale = memory.scale == 8 ? 3 : memory.scale == 4 ? 2 : memory.scale == 2 ? 1 : 0;
    const bool based = memory.base != MemoryOperand::none;
    const unsigned base = based ? static_cast<unsigned>(memory.base) : no_base;
    raw({static_cast<std::uint8_t>(0x48 | (index >> 3) << 1 | base >> 3), opcode,
         static_cast<std::uint8_t>(based ? 0x84 : 0x04), static_cast<std::uint8_t>(scale << 6 | (index & 7) << 3 | (base & 7))});
    word32(static_cast<std::uint32_t>(memory.displacement));
}

void CodeEmitter::jump(std::uint64_t to) {
    raw({0xe9});
    word32(static_cast<std::uint32_t>(to - (here() + 4)));
}

void CodeEmitter::conditional_jump(unsigned condition, std::uint64_t to) {
    raw({0x0f, static_cast<std::uint8_t>(0x80 | condition)});
    word32(static_cast<std::uint32_t>(to - (here() + 4)));
}

std::uint64_t CodeEmitter::trap() {
    const std::uint64_t at = here();
    raw({0xcc, 0xcc, 0xcc, 0xcc, 0xcc});
    return at;
}

std::uint64_t CodeEmitter::block_head(std::uint32_t number) {
    ++entries_;
    store(rax, saved_rax);
    store(rcx, saved_rcx);
    load(rcx, blocks_left);
    raw({0xe3, 0x02, 0xeb, 0x13});  // jrcxz over the jump that skips the next three
    load(rcx, saved_rcx);
    load(rax, saved_rax);
    raw({0xcc});
    const std::uint64_t stopped_at = here();
    raw({0x48, 0x8d, 0x49, 0xff});  // lea -1(%rcx), %rcx
    store(rcx, blocks_left);
    load(rcx, trace_pointer);
    raw({0xb8});
    word32(number);
    raw({0x48, 0x89, 0x01});        // mov %rax, (%rcx)
    raw({0x48, 0x8d, 0x49, 0x08});  // lea 8(%rcx), %rcx
    store(rcx, trace_pointer);
    load(rcx, saved_rcx);
    load(rax, saved_rax);
    return stopped_at;
}

void CodeEmitter::record_rax() {
    ++entries_;
    store(rcx, saved_rcx);
    load(rcx, trace_pointer);
    raw({0x48, 0x89, 0x01});
    raw({0x48, 0x8d, 0x49, 0x08});
    store(rcx, trace_pointer);
    load(rcx, saved_rcx);
    load(rax, saved_rax);
}

void CodeEmitter::record_address(const StaticInstruction& instruction) {
    store(rax, saved_rax);
    address_to_rax(instruction);
    record_rax();
}

void CodeEmitter::address_to_rax(const StaticInstruction& instruction) {
    const MemoryOperand& memory = instruction.memory;
    if (memory.base == MemoryOperand::instruction_pointer)
        constant(rax, instruction.address + instruction.length + static_cast<std::uint64_t>(memory.displacement));
    else
        operand_to_rax(0x8d, instruction.gather ? MemoryOperand{memory.base, MemoryOperand::none, 1, 0, 64, false, memory.displacement} : memory);
}

void CodeEmitter::record_stack(std::int32_t offset) {
    constexpr std::int8_t rsp = 4;
    store(rax, saved_rax);
    operand_to_rax(0x8d, MemoryOperand{rsp, MemoryOperand::none, 1, 0, 64, false, offset});
    record_rax();
}

void CodeEmitter::record_register(unsigned reg) {
    store(rax, saved_rax);
    operand_to_rax(0x8d, MemoryOperand{static_cast<std::int8_t>(reg), MemoryOperand::none, 1, 0, 64, false, 0});
    record_rax();
}

void CodeEmitter::push_constant(std::uint64_t value) {
    store(rax, saved_rax);
    constant(rax, value);
    access(rax, saved_rax);
    raw({0x50});
    load(rax, saved_rax);
}

void CodeEmitter::save_flags() {
    store(rcx, saved_rcx);
    raw({0x9f, 0x0f, 0x90, 0xc0});  // lahf; seto %al
    store(rax, saved_flags);
}

void CodeEmitter::restore_flags() {
    load(rax, saved_flags);
    raw({0x04, 0x7f, 0x9e});  // add $127, %al sets the overflow flag from al; sahf the others
    load(rax, saved_rax);
    load(rcx, saved_rcx);
}

std::uint64_t CodeEmitter::lookup() {
    save_flags();
    load(rax, jump_target);
    raw({0x89, 0xc1, 0x81, 0xe1});  // mov %eax, %ecx; and
    word32(lookup_entries - 1);
    raw({0xc1, 0xe1, 0x04});        // shl $4, %ecx
    raw({gs_prefix, 0x48, 0x39, 0x81});  // cmp %rax, %gs:table(%rcx)
    word32(lookup_table);
    raw({0x0f, 0x85});
    const std::size_t patch = bytes_.size();
    word32(0);
    raw({gs_prefix, 0x48, 0x8b, 0x89});  // mov %gs:table+8(%rcx), %rcx
    word32(lookup_table + 8);
    store(rcx, jump_code);
    restore_flags();
    raw({gs_prefix, 0xff, 0x24, 0x25});  // jmp *%gs:jump_code
    word32(jump_code);
    const std::uint32_t distance = static_cast<std::uint32_t>(bytes_.size() - patch - 4);
    std::memcpy(bytes_.data() + patch, &distance, sizeof distance);
    restore_flags();
    raw({0xcc});
    return here();
}

void CodeEmitter::vector_slot_move(std::uint8_t opcode, unsigned reg, std::uint32_t slot) {
    raw({gs_prefix, static_cast<std::uint8_t>(0x40 | (reg >> 3) << 2), 0x0f, opcode, static_cast<std::uint8_t>((reg & 7) << 3 | 4), 0x25});
    word32(slot);
}

void CodeEmitter::call_sha_routine(const StaticInstruction& instruction, std::uint64_t area, std::uint64_t routine) {
    constexpr unsigned rsp = 4, rsi = 6, rdi = 7, register_bytes = 16;
    constexpr std::uint8_t vector_store = 0x11, vector_load = 0x10;  // movups
    const std::size_t modrm = modrm_offset(instruction);
    const std::uint8_t rex = instruction.bytes[0] == 0x0f ? 0 : instruction.bytes[0], fields = instruction.bytes[modrm];
    const unsigned destination = (fields >> 3 & 7) | (rex & 4 ? 8u : 0u);
    store(rax, saved_rax);
    save_flags();
    vector_slot_move(vector_store, destination, operands);
    vector_slot_move(vector_store, 0, operands + 2 * register_bytes);
    if ((fields >> 6) == 3) {
        vector_slot_move(vector_store, (fields & 7) | (rex & 1 ? 8u : 0u), operands + register_bytes);
    } else {
        load(rax, saved_rax);
        address_to_rax(instruction);
        raw({0x48, 0x8b, 0x08});        // mov (%rax), %rcx
        store(rcx, operands + register_bytes);
        raw({0x48, 0x8b, 0x48, 0x08});  // mov 8(%rax), %rcx
        store(rcx, operands + register_bytes + 8);
    }
    store(rsp, saved_stack);
    constant(rsp, area + stack_top);
    raw({0x52, 0x56, 0x57, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53});  // push what a call may change
    constant(rdi, area + operands);
    constant(rsi, instruction.bytes[modrm - 1]);
    constant(rax, routine);
    raw({0xff, 0xd0});  // call *%rax
    raw({0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a});
    load(rsp, saved_stack);
    vector_slot_move(vector_load, destination, operands);
    restore_flags();
}

std::size_t modrm_offset(const StaticInstruction& instruction) {
    const auto& bytes = instruction.bytes;
    std::size_t at = 0;
    while (at < instruction.length && is_legacy_prefix(bytes[at])) ++at;
    if (bytes[at] == 0xc5) return at + 3;
    if (bytes[at] == 0xc4) return at + 4;
    if (bytes[at] == 0x62) return at + 5;
    if ((bytes[at] & 0xf0) == 0x40) ++at;
    if (bytes[at] != 0x0f) return at + 1;
    return bytes[at + 1] == 0x38 || bytes[at + 1] == 0x3a ? at + 3 : at + 2;
}

bool CodeEmitter::copy_absolute(const StaticInstruction& instruction) {
    const std::size_t modrm = modrm_offset(instruction);
    if (modrm + 5 > instruction.length || (instruction.bytes[modrm] & 0xc7) != 0x05) return false;
    unsigned scratch = 16;
    for (const unsigned candidate : {0u, 1u, 2u, 3u, 6u, 7u})
        if (!(instruction.general_registers >> candidate & 1)) scratch = candidate;
    if (scratch == 16) return false;
    StaticInstruction changed = instruction;
    // The extension bit of the base register means nothing in the original form; it must be clear (set in
    // the inverted encodings).
    std::size_t at = 0;
    while (is_legacy_prefix(changed.bytes[at])) ++at;
    if ((changed.bytes[at] & 0xf0) == 0x40) changed.bytes[at] &= 0xfe;
    if (changed.bytes[at] == 0xc4 || changed.bytes[at] == 0x62) changed.bytes[at + 1] |= 0x20;
    changed.bytes[modrm] = static_cast<std::uint8_t>((changed.bytes[modrm] & 0x38) | 0x80 | scratch);
    std::memset(changed.bytes.data() + modrm + 1, 0, 4);
    store(scratch, saved_scratch);
    constant(scratch, instruction.address + instruction.length + static_cast<std::uint64_t>(instruction.memory.displacement));
    access(static_cast<int>(scratch), saved_scratch);
    bytes_.insert(bytes_.end(), changed.bytes.begin(), changed.bytes.begin() + changed.length);
    load(scratch, saved_scratch);
    return true;
}

}  // namespace tmaprobe::counters::model
