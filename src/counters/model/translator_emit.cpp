// What the translator writes for each instruction of a block: the copy, what records its address, and the
// way out at a branch.
#include "counters/model/translator.h"

#if defined(__x86_64__)

namespace tmaprobe::counters::model {
namespace {

bool has_byte_prefix(const StaticInstruction& instruction, std::uint8_t wanted) {
    for (const std::uint8_t byte : instruction.bytes) {
        if (byte == wanted) return true;
        const bool prefix = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
                            byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
        if (!prefix) return false;
    }
    return false;
}

bool is_return_with_pop(const StaticInstruction& instruction) {
    return instruction.returns && has_byte_prefix(instruction, 0xc2);
}

/// jrcxz and loop have no long form.
bool is_count_branch(const StaticInstruction& branch) {
    return branch.conditional && branch.length == 2 && (branch.bytes[0] & 0xfc) == 0xe0;
}
}  // namespace

bool Translator::copyable(const StaticInstruction& instruction) const {
    if (!instruction.decoded || instruction.system) return false;
    if (tracer_.steps_in_software(instruction)) return !instruction.memory.segment;
    if (instruction.memory.segment == 'g' || has_byte_prefix(instruction, 0x67)) return false;
    if (is_return_with_pop(instruction)) return false;
    if (instruction.branch && instruction.indirect && instruction.memory.segment) return false;
    const bool relative = instruction.explicit_memory && instruction.memory.base == MemoryOperand::instruction_pointer;
    if (relative && !instruction.branch) {
        CodeEmitter trial(0);
        return trial.copy_absolute(instruction);
    }
    return true;
}

void Translator::exit_to(std::uint64_t target, Trap::Kind kind, CodeEmitter& emitter) {
    const std::uint64_t at = emitter.trap();
    traps_[at + 1] = {kind, target, kind == Trap::Kind::untranslated ? at : 0};
}

void Translator::emit_instruction(const StaticInstruction& instruction, CodeEmitter& emitter) {
    if (instruction.string) {
        constexpr unsigned count_register = 1, source = 6, destination = 7;
        if (instruction.repeated) emitter.record_register(count_register);
        emitter.record_register(source);
        emitter.record_register(destination);
    } else if (instruction.loads || instruction.stores) {
        if (instruction.explicit_memory) emitter.record_address(instruction);
        if (instruction.push || instruction.pop) emitter.record_stack(instruction.push ? -8 : 0);
    }
    const bool relative = instruction.explicit_memory && instruction.memory.base == MemoryOperand::instruction_pointer;
    if (tracer_.steps_in_software(instruction))
        emitter.call_sha_routine(instruction, area_, routine_);
    else if (relative)
        emitter.copy_absolute(instruction);
    else
        emitter.copy(instruction);
}

void Translator::emit_indirect_target(const StaticInstruction& branch, CodeEmitter& emitter) {
    constexpr unsigned rax = 0;
    emitter.store(rax, CodeEmitter::saved_rax);
    if (branch.returns) {
        emitter.access(rax, CodeEmitter::saved_rax);
        emitter.raw({0x58});  // pop %rax
    } else if (!branch.explicit_memory) {
        const std::size_t modrm = modrm_offset(branch);
        const bool extended = modrm >= 2 && (branch.bytes[modrm - 2] & 0xf1) == 0x41;
        emitter.raw({static_cast<std::uint8_t>(extended ? 0x49 : 0x48), 0x8b, static_cast<std::uint8_t>(0xc0 | (branch.bytes[modrm] & 7))});
    } else if (branch.memory.base == MemoryOperand::instruction_pointer) {
        emitter.constant(rax, branch.address + branch.length + static_cast<std::uint64_t>(branch.memory.displacement));
        emitter.access(rax, CodeEmitter::saved_rax);
        emitter.raw({0x48, 0x8b, 0x00});  // mov (%rax), %rax
    } else {
        emitter.access(rax, CodeEmitter::saved_rax);
        emitter.operand_to_rax(0x8b, branch.memory);
    }
    emitter.store(rax, CodeEmitter::jump_target);
    emitter.load(rax, CodeEmitter::saved_rax);
}

void Translator::emit_branch(const StaticInstruction& branch, CodeEmitter& emitter) {
    constexpr unsigned rax = 0;
    const std::uint64_t next = branch.address + branch.length;
    if (branch.loads && branch.explicit_memory) emitter.record_address(branch);
    if (branch.returns) emitter.record_stack(0);
    if (branch.indirect) emit_indirect_target(branch, emitter);
    if (branch.call) {
        emitter.record_stack(-8);
        emitter.push_constant(next);
    }
    if (branch.indirect) {
        emitter.store(rax, CodeEmitter::saved_rax);
        emitter.jump(lookup_);
    } else if (is_count_branch(branch)) {
        for (std::size_t i = 0; i + 1 < branch.length; ++i) emitter.raw({branch.bytes[i]});
        emitter.raw({0x05});  // over the trap for the way on
        exit_to(next, Trap::Kind::untranslated, emitter);
        exit_to(branch.target, Trap::Kind::untranslated, emitter);
    } else if (branch.conditional) {
        const unsigned condition = branch.bytes[branch.length - (branch.length >= 6 ? 5 : 2)] & 15;
        constexpr std::uint64_t trap_bytes = 5, jump_bytes = 6;
        emitter.conditional_jump(condition, emitter.here() + jump_bytes + trap_bytes);
        exit_to(next, Trap::Kind::untranslated, emitter);
        exit_to(branch.target, Trap::Kind::untranslated, emitter);
    } else {
        exit_to(branch.target, Trap::Kind::untranslated, emitter);
    }
}

void Translator::emit_block(std::uint64_t start, CodeEmitter& emitter) {
    const std::uint32_t number = static_cast<std::uint32_t>(blocks_.size());
    Block block{start, emitter.here(), static_cast<std::uint32_t>(block_instructions_.size())};
    traps_[emitter.block_head(number)] = {Trap::Kind::no_blocks_left, start, 0};
    std::uint64_t address = start;
    bool branched = false;
    std::size_t accesses = 0;
    while (block.count < longest_block && !branched) {
        const std::uint32_t instruction_number = number_of(address);
        const StaticInstruction instruction = instructions_[instruction_number];
        if (!copyable(instruction) || rewritable(address)) {
            exit_to(address, Trap::Kind::in_place, emitter);
            branched = true;
            break;
        }
        block_instructions_.push_back(instruction_number);
        ++block.count;
        if (tracer_.steps_in_software(instruction)) ++block.in_software;
        branched = instruction.branch;
        if (branched)
            emit_branch(instruction, emitter);
        else
            emit_instruction(instruction, emitter);
        for (; accesses < emitter.accesses().size(); ++accesses) {
            const CodeEmitter::Access& access = emitter.accesses()[accesses];
            accesses_[access.address] = {address, number, block.count - 1, access};
        }
        address += instruction.length;
    }
    if (!branched) exit_to(address, Trap::Kind::untranslated, emitter);
    block.entries = emitter.entries();
    block_at_[start] = number;
    blocks_.push_back(block);
}

}  // namespace tmaprobe::counters::model

#endif
