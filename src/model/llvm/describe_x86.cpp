#include <algorithm>
#include <cstdlib>
#include <optional>

#include "model/llvm/describe.h"

namespace tmaprobe::model::core {
namespace {

/// LLVM has two encodings of some instructions.
llvm::StringRef plain_name(llvm::StringRef name) {
    name.consume_back("_REV");
    return name;
}

void remove_uses(InstructionDescriptor& out, const std::vector<Unit>& units) {
    const auto kept = std::remove_if(out.uses.begin(), out.uses.end(), [&](const Use& use) {
        return std::find(units.begin(), units.end(), use.unit) != units.end();
    });
    out.uses.count = static_cast<std::uint8_t>(kept - out.uses.begin());
}

/// Bytes of the operand in memory, from LLVM's name: the width stands before "rm" and "mr", a source's own after it.
unsigned bytes_in_memory(llvm::StringRef name, const trace::StaticInstruction& what) {
    if (what.string) return what.string_bytes;
    if (what.push || what.pop) return 8;
    if (any_prefix(name, {"MOVSX", "MOVZX"})) return name.ends_with("8") ? 1 : name.ends_with("16") ? 2 : 4;
    llvm::StringRef conversion = name;
    conversion.consume_front("V");
    if (conversion.consume_front("CVT")) {
        conversion.consume_front("T");
        if (any_prefix(conversion, {"SS2", "SI2"})) return 4;
        if (any_prefix(conversion, {"SD2", "SI642"})) return 8;
    }
    if (any_prefix(name, {"MOVS", "VMOVS"}) || name.contains("SS") || name.contains("SD")) {
        if (name.contains("SSrm") || name.contains("SSmr") || name.contains("SSZrm") || name.contains("SSZmr"))
            return 4;
        if (name.contains("SDrm") || name.contains("SDmr") || name.contains("SDZrm") || name.contains("SDZmr"))
            return 8;
    }
    if (any_prefix(name, {"MOVD", "VMOVD", "MOVSS", "VMOVSS"}) && !name.contains("DQ") && !name.contains("DUP"))
        return 4;
    if (any_prefix(name,
                   {"MOVQ", "VMOVQ", "MOVH", "MOVL", "VMOVH", "VMOVL", "MOVDDUP", "MOVPQI2QI", "VMOVPQI2QI", "MOVPDI"}))
        return 8;
    if (any_prefix(name, {"MOVPDI2DI", "VMOVPDI2DI", "MOVDI2PDI", "VMOVDI2PDI"})) return 4;
    if (any_prefix(name, {"VPBROADCASTB", "PINSRB", "PEXTRB", "VPINSRB", "VPEXTRB"})) return 1;
    if (any_prefix(name, {"VPBROADCASTW", "PINSRW", "PEXTRW", "VPINSRW", "VPEXTRW"})) return 2;
    if (any_prefix(name, {"VPBROADCASTD", "VBROADCASTSS", "PINSRD", "PEXTRD", "VPINSRD", "VPEXTRD"})) return 4;
    if (any_prefix(name, {"VPBROADCASTQ", "VBROADCASTSD", "PINSRQ", "PEXTRQ", "VPINSRQ", "VPEXTRQ"})) return 8;
    if (any_prefix(name, {"SET"})) return 1;
    if (name.contains("Z256") || name.contains("Yrm") || name.contains("Ymr")) return 32;
    if (name.contains("Z128")) return 16;
    if (name.contains("Zrm") || name.contains("Zmr")) return 64;
    for (const auto& [width, bytes] : {std::pair{"64", 8u}, {"32", 4u}, {"16", 2u}, {"8", 1u}})
        for (const char* form : {"rm", "mr", "mi", "m"})
            if (name.contains(std::string(width) + form)) return bytes;
    return 16;
}

/// Which flags a condition asks for.
struct Flags {
    bool carry = true, others = true;
};

Flags flags_of_condition(std::int64_t condition) {
    switch (condition) {
        case 2:
        case 3:
            return {true, false};  // below, above or equal
        case 6:
        case 7:
            return {true, true};  // below or equal, above
        default:
            return {false, true};
    }
}

/// What an instruction adds to a 64-bit register, and nothing else; of a subtraction, what it takes away.
std::optional<std::int64_t> added_constant(llvm::StringRef name, const llvm::MCInst& code) {
    constexpr unsigned base = 1, index = 3, displacement = 4;
    const auto constant = [&](unsigned i) {
        return i < code.getNumOperands() && code.getOperand(i).isImm() ? std::optional(code.getOperand(i).getImm())
                                                                       : std::nullopt;
    };
    if (name == "INC64r" || name == "DEC64r") return 1;
    if (any_of(name, {"ADD64ri8", "SUB64ri8", "ADD64ri32", "SUB64ri32"})) return constant(2);
    if (any_of(name, {"ADD64i32", "SUB64i32"})) return constant(0);  // to rax
    if (name != "LEA64r" || !code.getOperand(base).getReg() || code.getOperand(index).getReg()) return std::nullopt;
    return constant(displacement);
}

/// Which general registers it writes, and by how much it moves the stack pointer where that is a constant.
void note_registers_written(const LlvmTarget& target, const Schedule& naming, const llvm::MCInst& code,
                            InstructionDescriptor& out) {
    const llvm::MCInstrDesc& description = target.instructions->get(code.getOpcode());
    const llvm::StringRef name = target.instructions->getName(code.getOpcode());
    const auto writes = [&](unsigned id) {
        if (naming.is_general(id))
            out.registers_written = static_cast<std::uint16_t>(out.registers_written |
                                                               1u << (target.registers->getEncodingValue(id) & 15u));
    };
    const unsigned stack = naming.stack_pointer();
    const bool into_stack =
        description.getNumDefs() > 0 && code.getOperand(0).isReg() && code.getOperand(0).getReg() == stack;
    for (unsigned i = 0; i < description.getNumDefs() && i < code.getNumOperands(); ++i)
        if (code.getOperand(i).isReg() && code.getOperand(i).getReg()) writes(code.getOperand(i).getReg());
    for (const llvm::MCPhysReg id : description.implicit_defs()) writes(id);

    constexpr int word = 8;
    const bool one_word = any_prefix(name, {"PUSH64", "POP64", "CALL64", "FARCALL64"}) || name == "RET64";
    if (one_word && !into_stack) out.stack_change = out.what.push ? -word : word;
    const unsigned source =
        code.getNumOperands() > 1 && code.getOperand(1).isReg() ? unsigned{code.getOperand(1).getReg()} : 0u;
    if (const auto constant = added_constant(name, code); into_stack && source == stack && constant)
        out.stack_change = static_cast<std::int32_t>(any_prefix(name, {"SUB", "DEC"}) ? -*constant : *constant);
    if (out.stack_change)
        out.registers_written =
            static_cast<std::uint16_t>(out.registers_written & ~(1u << target.registers->getEncodingValue(stack)));
}

/// Of the operands of one that only adds up an address.
bool is_sum_of_address(llvm::StringRef name) { return name.starts_with("LEA"); }

}  // namespace

void describe_x86(const LlvmTarget& target, const CoreParameters& parameters, const Schedule& naming,
                  const llvm::MCInst& code, InstructionDescriptor& out) {
    const llvm::MCInstrDesc& description = target.instructions->get(code.getOpcode());
    const llvm::StringRef name = plain_name(target.instructions->getName(code.getOpcode()));
    const auto reg = [&](unsigned i) -> unsigned {
        return i < code.getNumOperands() && code.getOperand(i).isReg() ? unsigned{code.getOperand(i).getReg()} : 0u;
    };
    const unsigned bytes = out.what.explicit_memory || out.what.string || out.what.push || out.what.pop
                               ? bytes_in_memory(name, out.what)
                               : 0;
    if (out.loads) out.load_bytes = static_cast<std::uint8_t>(bytes);
    if (out.stores) out.store_bytes = static_cast<std::uint8_t>(bytes);

    // Only what a flag is asked for is waited for.
    const Unit carry = naming.carry(), others = naming.other_flags();
    Flags read;
    if (out.conditional || any_prefix(name, {"SETCC", "CMOV"})) {
        const llvm::MCOperand& condition = code.getOperand(code.getNumOperands() - 1);
        if (condition.isImm()) read = flags_of_condition(condition.getImm());
    } else if (any_prefix(name, {"ADC", "SBB", "RCL", "RCR", "CMC"})) {
        read = {true, false};
    }
    if (!read.carry) remove_uses(out, {carry});
    if (!read.others) remove_uses(out, {others});
    const auto leaves_alone = [&](Unit unit) {
        const auto kept = std::remove_if(out.definitions.begin(), out.definitions.end(),
                                         [&](const Definition& d) { return d.unit == unit; });
        out.definitions.count = static_cast<std::uint8_t>(kept - out.definitions.begin());
    };
    if (any_prefix(name, {"INC", "DEC"})) leaves_alone(carry);
    if (any_prefix(name, {"ROL", "ROR", "RCL", "RCR", "CLC", "STC", "CMC"}) ||
        (any_prefix(name, {"BT"}) && !name.starts_with("BTR")))
        leaves_alone(others);

    // LLVM has the accumulator among what they write.
    if (any_of(name, {"CWD", "CDQ", "CQO"}) && out.uses.count > 0) leaves_alone(out.uses.items[0].unit);

    // The rest of a register stays when a part of it is written.
    if (description.getNumDefs() > 0 && reg(0) && naming.is_general(reg(0))) {
        const llvm::StringRef written = target.registers->getName(reg(0));
        const bool whole =
            written.starts_with("R") ? !(written.ends_with("B") || written.ends_with("W")) : written.starts_with("E");
        if (!whole)
            for (const Unit unit : naming.units(reg(0))) out.uses.push({unit, Part::operation, 0});
    }

    const bool same_sources = description.getNumOperands() >= 3 && reg(1) && reg(1) == reg(2);
    const llvm::StringRef operation = name.starts_with("V") ? name.drop_front() : name;
    const bool zero =
        same_sources && (any_of(name, {"XOR32rr", "XOR64rr", "SUB32rr", "SUB64rr"}) ||
                         (any_prefix(operation, {"PXOR", "XORPS", "XORPD", "PSUB", "PCMPGT", "PANDN", "ANDNP"}) &&
                          name.contains("rr")));
    if (zero) {
        out.uses.count = 0;
        out.executes = false;
    } else if (same_sources && any_prefix(operation, {"PCMPEQ"}) && name.contains("rr")) {
        out.uses.count = 0;  // all ones, whatever it was
    }
    if (any_prefix(name, {"NOOP", "ENDBR"})) {
        out.executes = false;
        out.joins_previous = parameters.fuses_no_operations && name.starts_with("NOOP");
        out.uses.count = out.definitions.count = 0;
        out.loads = false;
    }
    const bool extends = any_of(name, {"MOVZX32rr8", "MOVZX64rr8"}) && parameters.eliminates_zero_extension &&
                         !llvm::StringRef(target.registers->getName(reg(1))).ends_with("H");
    const bool general_move = any_of(name, {"MOV32rr", "MOV64rr"}) || extends;
    const bool vector_move = name.contains("rr") &&
                             any_prefix(operation, {"MOVAPS", "MOVAPD", "MOVUPS", "MOVUPD", "MOVDQA", "MOVDQU"}) &&
                             !name.contains("rrk");
    // A copy into itself is not one.
    const bool to_itself = extends ? target.registers->isSubRegister(reg(0), reg(1)) : reg(0) == reg(1);
    if (!to_itself && ((general_move && parameters.eliminates_general_moves) ||
                       (vector_move && parameters.eliminates_vector_moves))) {
        out.executes = false;
        for (Definition& definition : out.definitions) definition.as_soon_as_source = true;
    }
    if ((general_move || vector_move) && out.executes)
        for (Definition& definition : out.definitions)
            definition.latency = std::max<std::uint16_t>(definition.latency, 1);
    const auto constant = added_constant(name, code);
    if (parameters.adds_constants_below && constant && std::abs(*constant) < parameters.adds_constants_below) {
        out.constant = static_cast<std::int16_t>(*constant);
        for (Definition& definition : out.definitions)
            if (definition.unit != carry && definition.unit != others) definition.as_soon_as_source = true;
        // No flags, which would have to be computed.
        if (name == "LEA64r" && out.source() != no_unit) out.executes = false;
    }

    const bool on_stack = (out.what.push || out.what.pop) && !out.what.string;
    const Unit stack = naming.units(naming.stack_pointer()).front();
    out.stack = stack;
    const bool of_addresses = !parameters.stack_synchronization_cycles;
    for (const Use& use : out.uses)
        out.reads_stack = out.reads_stack ||
                          (use.unit == stack && (of_addresses || (use.part != Part::load && !is_sum_of_address(name))));
    if (on_stack && parameters.stack_engine) {
        out.moves_stack = true;
        out.reads_stack = false;
        for (Definition& definition : out.definitions) {
            // The stack pointer is moved on beside the data; into itself it is loaded.
            if (definition.unit == stack && !(out.what.pop && reg(0) == naming.stack_pointer()))
                definition.as_soon_as_source = true;
        }
    }
    out.serializes = any_of(name, {"LFENCE", "CPUID", "SERIALIZE", "RDTSCP"});
    out.locked = out.locked || name == "MFENCE";
    if (any_of(name, {"MOV64ri"})) out.op_cache_entries = 2;
    constexpr std::uint8_t operand_size_prefix = 0x66;
    const bool short_constant = name.contains("16ri") || name.contains("16mi") || name.ends_with("16i16");
    if (short_constant && !name.ends_with("8") && out.what.bytes[0] == operand_size_prefix)
        out.decode_cycles = static_cast<std::uint8_t>(parameters.length_changing_prefix_cycles);

    if (parameters.renames_memory_by_registers || parameters.foretold_forwards) {
        note_registers_written(target, naming, code, out);
        const bool wide = name.contains("32") || name.contains("64");
        const bool modifies = parameters.renames_read_modify_write && out.loads && out.stores && !out.locked && wide &&
                              any_prefix(name, {"ADD", "SUB", "INC", "DEC", "AND", "OR", "XOR"});
        out.renamable_load = modifies || any_of(name, {"MOV64rm", "MOV32rm"}) || (out.what.pop && on_stack);
        out.renamable_store =
            modifies || any_of(name, {"MOV64mr", "MOV32mr", "MOV64mi32", "MOV32mi"}) || (out.what.push && on_stack);
        return;
    }
    // What a core that renames memory can tell by the operands alone: base and displacement, no index. Some do it with
    // the stack engine, too.
    const bool by_operands =
        out.what.explicit_memory && out.what.memory.index == trace::MemoryOperand::none && !out.writes_vector;
    const bool adds_constant = parameters.renames_memory_operands &&
                               any_prefix(name, {"ADD", "SUB", "INC", "DEC", "AND", "OR", "XOR"}) && out.loads &&
                               out.stores && !out.locked && (name.contains("mi") || name.ends_with("m"));
    const bool plain = any_of(name, {"MOV64rm", "MOV32rm"});
    const bool by_stack = parameters.renames_memory_operands && on_stack;
    out.renamable_load =
        (by_stack && out.what.pop) ||
        (by_operands && out.loads && (plain || adds_constant || (parameters.renames_memory_operands && !out.stores)));
    out.renamable_store =
        (by_stack && out.what.push) ||
        (by_operands && ((out.stores && !out.loads && any_prefix(name, {"MOV64m", "MOV32m", "MOV16m", "MOV8m"}) &&
                          out.what.general_registers) ||
                         adds_constant));
}

}  // namespace tmaprobe::model::core
