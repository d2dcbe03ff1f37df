#include "model/llvm/decoder.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <llvm/MC/MCInst.h>

#include "model/llvm/target.h"
#include "trace/x86_encoding.h"

namespace tmaprobe::model::core {
namespace {

/// The number by which trace::MemoryOperand knows a 64- or 32-bit general register; none for anything else.
std::int8_t x86_register(llvm::StringRef name) {
    if (name == "RIP" || name == "EIP") return trace::MemoryOperand::instruction_pointer;
    static constexpr const char* names[] = {"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI"};
    if (name.size() == 3 && (name[0] == 'R' || name[0] == 'E'))
        for (std::int8_t i = 0; i < 8; ++i)
            if (name.substr(1) == names[i]) return i;
    unsigned number = 0;
    llvm::StringRef digits = name;
    if (digits.consume_front("R") && !digits.consumeInteger(10, number) && number < 32)
        return static_cast<std::int8_t>(number);
    return trace::MemoryOperand::none;
}

class LlvmDecoder final : public trace::Decoder {
  public:
    LlvmDecoder(std::unique_ptr<LlvmTarget> target, bool x86) : target_(std::move(target)), x86_(x86) {}

    trace::StaticInstruction decode(const std::uint8_t* bytes, std::size_t available, std::uint64_t address) override {
        trace::StaticInstruction out = undecoded(address);
        out.length = static_cast<std::uint8_t>(std::min<std::size_t>(available, out.length));
        llvm::MCInst instruction;
        std::uint64_t size = 0;
        const auto status = target_->disassembler->getInstruction(
            instruction, size, llvm::ArrayRef<std::uint8_t>(bytes, available), address, llvm::nulls());
        if (status != llvm::MCDisassembler::Success || size == 0 || size > out.bytes.size()) return out;
        // LLVM gives some prefixes (lock, rep) as instructions of their own; executed they are one with the next.
        std::memcpy(out.bytes.data(), bytes, size);
        out.length = static_cast<std::uint8_t>(size);
        if (x86_ && size < available && trace::x86_encoding(out).opcode_at >= size) {
            trace::StaticInstruction rest = decode(bytes + size, available - size, address + size);
            if (!rest.decoded || rest.length + size > rest.bytes.size()) return undecoded(address);
            std::memmove(rest.bytes.data() + size, rest.bytes.data(), rest.length);
            std::memcpy(rest.bytes.data(), bytes, size);
            rest.address = address;
            rest.locked = rest.locked || trace::x86_encoding(out).lock;
            rest.length = static_cast<std::uint8_t>(rest.length + size);
            if (rest.explicit_memory) rest.memory.segment = trace::x86_encoding(rest).segment;
            trace::classify_x86(rest);
            return rest;
        }
        out.decoded = true;
        constexpr std::uint8_t lock_prefix = 0xf0;
        out.locked = x86_ && bytes[0] == lock_prefix && size > 1;
        const llvm::MCInstrDesc& description = target_->instructions->get(instruction.getOpcode());
        out.loads = description.mayLoad();
        out.stores = description.mayStore();
        control_flow(instruction, description, out);
        if (x86_) {
            x86_operands(instruction, description, out);
        } else {
            std::uint32_t word = 0;
            std::memcpy(&word, bytes, sizeof word);
            if (!arm64_memory(word, out) && !(out.loads && out.stores)) out.loads = out.stores = false;
            out.plain_load = out.loads && !out.stores;         // nothing else loads on this architecture
            out.system = (word & 0xffe0001fu) == 0xd4000001u;  // svc
        }
        return out;
    }

  private:
    trace::StaticInstruction undecoded(std::uint64_t address) const {
        trace::StaticInstruction out;
        out.address = address;
        out.length = x86_ ? 1 : 4;
        return out;
    }

    void control_flow(const llvm::MCInst& instruction, const llvm::MCInstrDesc& description,
                      trace::StaticInstruction& out) {
        out.call = description.isCall();
        out.returns = description.isReturn();
        out.indirect = description.isIndirectBranch() || out.returns;
        out.branch = description.isBranch() || out.call || out.returns;
        out.conditional = description.isConditionalBranch();
        std::uint64_t target = 0;
        if (out.branch && target_->analysis->evaluateBranch(instruction, out.address, out.length, target))
            out.target = target;
        else if (out.branch)
            out.indirect = true;
    }

    void x86_operands(const llvm::MCInst& instruction, const llvm::MCInstrDesc& description,
                      trace::StaticInstruction& out) {
        const llvm::StringRef name = target_->instructions->getName(instruction.getOpcode());
        const auto touch = [&](unsigned id, bool written) {
            for (llvm::MCSuperRegIterator all(id, target_->registers.get(), true); all.isValid(); ++all) {
                const std::int8_t number = x86_register(target_->registers->getName(*all));
                if (number < 0 || number >= 32) continue;
                out.general_registers |= 1u << number;
                if (written) out.written_registers |= 1u << number;
            }
        };
        for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
            const llvm::MCOperand& operand = instruction.getOperand(i);
            if (operand.isReg() && operand.getReg()) touch(operand.getReg(), i < description.getNumDefs());
        }
        for (const llvm::MCPhysReg id : description.implicit_uses()) touch(id, false);
        for (const llvm::MCPhysReg id : description.implicit_defs()) touch(id, true);
        trace::classify_x86(out);
        unsigned first = 0, count = 0;
        for (unsigned i = 0; i < description.getNumOperands(); ++i) {
            if (description.operands()[i].OperandType != llvm::MCOI::OPERAND_MEMORY) continue;
            if (count++ == 0) first = i;
        }
        const trace::X86Encoding encoding = trace::x86_encoding(out);
        if (count == 0 && encoding.is(trace::X86Encoding::one_byte, 0x8d)) {
            // The operand of lea is an address and no access, which LLVM marks otherwise.
            first = 1;
            count = x86_memory_operands;
        }
        if (!out.string && count >= x86_memory_operands && first + x86_memory_operands <= instruction.getNumOperands())
            x86_address(instruction, first, out);
        out.stores = out.stores || out.push;
        out.loads = out.loads || out.pop;
        if (encoding.is(trace::X86Encoding::one_byte, 0xc9)) {  // leave
            out.loads = out.explicit_memory = true;
            out.memory.base = 5;
        }
        if (out.push && !out.explicit_memory) out.loads = false;
        if (out.pop && !out.explicit_memory) out.stores = false;
        if (out.branch && out.explicit_memory) out.loads = true;
        const bool exchanges =
            encoding.is(trace::X86Encoding::one_byte, 0x86) || encoding.is(trace::X86Encoding::one_byte, 0x87);
        out.locked = out.locked || (out.explicit_memory && out.loads && exchanges);
        out.plain_load = out.loads && !out.stores &&
                         any_prefix(name, {"MOV", "VMOV", "POP", "LDDQU", "VLDDQU", "VBROADCAST", "VPBROADCAST"});
        out.prefetch = name.starts_with("PREFETCH");
        if (out.prefetch) out.stores = false;
        if (any_prefix(name, {"FENCE", "LFENCE", "MFENCE", "SFENCE"})) out.loads = out.stores = false;
        for (const llvm::MCOperand& operand : instruction)
            if (!out.explicit_memory && operand.isReg() && operand.getReg() &&
                x86_register(target_->registers->getName(operand.getReg())) ==
                    trace::MemoryOperand::instruction_pointer)
                out.system = true;  // depends on where it is in a way not understood here
        out.fuses_with = fuses_with(name);
        if (out.conditional && name.starts_with("JCC"))
            out.condition = static_cast<std::uint8_t>(instruction.getOperand(1).getImm());
    }

    /// Of general registers, constants and, where it writes none, memory and a register.
    static trace::FusesWith fuses_with(llvm::StringRef name) {
        using enum trace::FusesWith;
        constexpr std::pair<std::string_view, trace::FusesWith> operations[] = {{"CMP", those_of_no_sign},
                                                                                {"TEST", any},
                                                                                {"ADD", those_of_no_sign},
                                                                                {"SUB", those_of_no_sign},
                                                                                {"AND", any},
                                                                                {"INC", those_of_no_sign_and_no_carry},
                                                                                {"DEC", those_of_no_sign_and_no_carry}};
        for (const auto& [operation, with] : operations) {
            llvm::StringRef rest = name;
            if (!rest.consume_front(operation)) continue;
            // LLVM's names go on with the width and the operands' kinds.
            const llvm::StringRef width = rest.take_while([](char c) { return c >= '0' && c <= '9'; });
            rest = rest.drop_front(width.size());
            const bool compares = operation == "CMP" || operation == "TEST";
            const bool fits = any_of(rest, {"rr", "rr_REV", "ri", "ri8", "ri32", "i8", "i16", "i32", "r"}) ||
                              (compares && any_of(rest, {"rm", "mr"}));
            return fits && any_of(width, {"8", "16", "32", "64"}) ? with : none;
        }
        return none;
    }

    void x86_address(const llvm::MCInst& instruction, unsigned first, trace::StaticInstruction& out) {
        const auto register_of = [&](unsigned i) {
            const llvm::MCOperand& operand = instruction.getOperand(first + i);
            return operand.isReg() && operand.getReg() ? llvm::StringRef(target_->registers->getName(operand.getReg()))
                                                       : llvm::StringRef();
        };
        const llvm::StringRef index = register_of(2), segment = register_of(4);
        out.explicit_memory = true;
        out.memory.base = x86_register(register_of(0));
        out.memory.index = x86_register(index);
        out.gather = index.starts_with("XMM") || index.starts_with("YMM") || index.starts_with("ZMM");
        if (instruction.getOperand(first + 1).isImm())
            out.memory.scale = static_cast<std::uint8_t>(instruction.getOperand(first + 1).getImm());
        if (instruction.getOperand(first + 3).isImm())
            out.memory.displacement = instruction.getOperand(first + 3).getImm();
        if (segment == "FS") out.memory.segment = 'f';
        if (segment == "GS") out.memory.segment = 'g';
    }

    std::unique_ptr<LlvmTarget> target_;
    bool x86_;
};

}  // namespace

Result<std::unique_ptr<trace::Decoder>> make_decoder(const std::string& architecture) {
    const bool x86 = architecture == "x86_64";
    auto target = TRY(make_target(architecture, x86 ? "x86-64" : "neoverse-n1"));
    return std::make_unique<LlvmDecoder>(std::move(target), x86);
}

bool arm64_memory(std::uint32_t word, trace::StaticInstruction& out) {
    const auto sign_extend = [](std::uint32_t value, unsigned bits) {
        const std::int64_t sign = std::int64_t{1} << (bits - 1);
        return (static_cast<std::int64_t>(value) ^ sign) - sign;
    };
    const bool vector = word & (1u << 26);
    const unsigned size = word >> 30;
    trace::MemoryOperand& memory = out.memory;
    memory.base = static_cast<std::int8_t>((word >> 5) & 31);
    bool load = word & (1u << 22);
    if ((word & 0x3a000000u) == 0x28000000u) {  // pairs
        const unsigned shift = vector ? size + 2 : 2 + (size >> 1);
        const bool post = (word & 0x01800000u) == 0x00800000u;
        memory.displacement = post ? 0 : sign_extend((word >> 15) & 0x7f, 7) * (std::int64_t{1} << shift);
    } else if ((word & 0x3b000000u) == 0x18000000u) {  // literal
        memory.base = trace::MemoryOperand::instruction_pointer;
        memory.displacement = sign_extend((word >> 5) & 0x7ffff, 19) * 4 - 4;  // from the instruction itself
        load = true;
    } else if ((word & 0x3b000000u) == 0x39000000u || (word & 0x3b000000u) == 0x38000000u) {
        const unsigned opc = (word >> 22) & 3;
        const unsigned shift = vector ? size | ((opc & 2) << 1) : size;
        load = vector ? (opc & 1) : opc != 0;
        if (word & 0x01000000u) {  // unsigned offset
            memory.displacement = static_cast<std::int64_t>(((word >> 10) & 0xfff)) << shift;
        } else if ((word & 0x00200c00u) == 0x00200800u) {  // register offset
            const unsigned option = (word >> 13) & 7;
            memory.index = static_cast<std::int8_t>((word >> 16) & 31);
            memory.index_bits = option & 1 ? 64 : 32;
            memory.index_signed = option & 4;
            memory.scale = static_cast<std::uint8_t>((word & 0x1000u) ? 1u << shift : 1u);
        } else if (!(word & 0x00200000u)) {  // unscaled, pre- and post-indexed
            const bool post = (word & 0xc00u) == 0x400u;
            memory.displacement = post ? 0 : sign_extend((word >> 12) & 0x1ff, 9);
        } else if (!vector) {  // atomic: reads and writes its base address
            out.stores = out.loads = out.explicit_memory = out.locked = true;
            return true;
        }
        if (size == 3 && opc == 2 && !vector) {  // prfm
            out.prefetch = true;
            load = true;
        }
    } else if ((word & 0x3f000000u) == 0x08000000u) {  // exclusive, ordered, compare and swap
        // the base register alone; exclusives and compare and swap are atomic, plain acquire and release are not
        out.locked = !(word & 0x00800000u) || (word & 0x00200000u);
    } else if ((word & 0xbe000000u) == 0x0c000000u) {  // vector structures
        // the base register alone
    } else {
        memory = {};
        return false;
    }
    out.explicit_memory = true;
    out.loads = load;
    out.stores = !load;
    return true;
}

}  // namespace tmaprobe::model::core
