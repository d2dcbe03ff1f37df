#include "model/llvm/describe.h"

#include <algorithm>
#include <cstring>

namespace tmaprobe::model::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Where the address operands of an x86 instruction begin; nothing when it has none.
std::optional<unsigned> first_memory_operand(const llvm::MCInstrDesc& description) {
    for (unsigned i = 0; i < description.getNumOperands(); ++i)
        if (description.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY) return i;
    return std::nullopt;
}

/// The number of a general register as MemoryOperand has it.
std::int8_t number_of(llvm::StringRef name, bool x86) {
    if (!x86) {
        unsigned number = 0;
        if (name == "SP") return 31;
        if (name == "LR") return 30;
        if (name == "FP") return 29;
        if ((name.consume_front("X") || name.consume_front("W")) && !name.getAsInteger(10, number))
            return static_cast<std::int8_t>(number);
    }
    return trace::MemoryOperand::none;
}

/// Bytes that an arm64 load or store moves, from its encoding.
unsigned arm64_bytes(const trace::StaticInstruction& instruction) {
    std::uint32_t word = 0;
    std::memcpy(&word, instruction.bytes.data(), sizeof word);
    const bool vector = word & (1u << 26);
    const unsigned size = word >> 30, opcode = (word >> 22) & 3;
    constexpr unsigned unknown = 16;
    if ((word & 0x3a000000u) == 0x28000000u) return 2u << (vector ? size + 2 : 2 + (size >> 1));  // pairs
    if ((word & 0x3a000000u) == 0x38000000u) return 1u << (vector ? size | (opcode & 2) << 1 : size);
    if ((word & 0x3f000000u) == 0x08000000u) return 1u << size;  // exclusive, ordered
    return unknown;
}

bool contains(const std::vector<std::uint64_t>& list, std::uint64_t ports) {
    return std::find(list.begin(), list.end(), ports) != list.end();
}

}  // namespace

Describer::Describer(const LlvmTarget& target, const CoreParameters& parameters)
    : target_(target),
      parameters_(parameters),
      x86_(parameters.architecture == "x86_64"),
      schedule_(target, parameters) {
    learn_memory_parts();
    for (unsigned opcode = 0; opcode < target.instructions->getNumOpcodes(); ++opcode)
        if (target.instructions->getName(opcode).contains("rr"))
            opcodes_.emplace(target.instructions->getName(opcode).str(), opcode);
}

std::optional<unsigned> Describer::latency_on_registers(unsigned opcode) {
    std::string name = target_.instructions->getName(opcode).str();
    const std::size_t at = std::max(name.rfind("rm") == std::string::npos ? 0 : name.rfind("rm"),
                                    name.rfind("mr") == std::string::npos ? 0 : name.rfind("mr"));
    if (!x86_ || at == 0) return std::nullopt;
    const auto found = opcodes_.find(name.replace(at, 2, "rr"));
    if (found == opcodes_.end()) return std::nullopt;
    return schedule_.plain_latency(found->second);
}

bool Describer::applies(const CorrectionOf& correction, const InstructionDescriptor& what) const {
    const trace::MemoryOperand& memory = what.what.memory;
    const auto& code = what.what.bytes;
    const auto is_in_code = [&](const Bytes& sequence) {
        const auto end = code.begin() + what.length;
        return std::search(code.begin(), end, sequence.begin(), sequence.end()) != end;
    };
    const auto& sequences = correction.what.bytes;
    if (!sequences.empty() && std::none_of(sequences.begin(), sequences.end(), is_in_code)) return false;
    switch (correction.what.when) {
        case Correction::When::scaled_index:
            return memory.index != trace::MemoryOperand::none && memory.scale > 1;
        case Correction::When::sum_of_three: {
            // rbp and r13 are encoded with a constant, be it 0.
            constexpr std::int8_t rbp = 5, r13 = 13;
            const bool constant = memory.displacement != 0 || memory.base == rbp || memory.base == r13;
            return memory.base != trace::MemoryOperand::none && memory.index != trace::MemoryOperand::none && constant;
        }
        case Correction::When::relative:
            return memory.base == trace::MemoryOperand::instruction_pointer;
        default:
            return true;
    }
}

Result<std::unique_ptr<Describer>> Describer::make(const LlvmTarget& target, const CoreParameters& parameters) {
    std::unique_ptr<Describer> made(new Describer(target, parameters));
    TRY(made->read_corrections());
    return made;
}

Result<> Describer::read_corrections() {
    for (const Correction& correction : parameters_.corrections) {
        CorrectionOf own{std::regex(correction.instructions), correction, {}, {}};
        if (correction.ports) own.ports = TRY(ports_of(*correction.ports, Part::operation));
        if (correction.store_ports) own.store_ports = TRY(ports_of(*correction.store_ports, Part::store));
        corrections_.push_back(std::move(own));
    }
    return {};
}

Result<std::vector<PortUse>> Describer::ports_of(const std::map<std::string, unsigned>& resources, Part part) const {
    std::vector<PortUse> uses;
    for (const auto& [resource, cycles] : resources) {
        const std::uint64_t ports = schedule_.ports_of(resource);
        if (!ports)
            return fail(ErrorCode::bad_input,
                        "LLVM's model of '" + parameters_.llvm_cpu + "' has no resource '" + resource + "'",
                        "the corrections of its instructions name it");
        uses.push_back({.ports = ports,
                        .cycles = static_cast<std::uint8_t>(cycles),
                        .part = part,
                        .pools = schedule_.pools_of(ports),
                        .is_unit = schedule_.is_unit(ports)});
    }
    std::ranges::stable_partition(uses, &PortUse::is_unit);
    return uses;
}

bool Describer::decode(const Bytes& bytes, std::uint64_t address, llvm::MCInst& out) const {
    std::uint64_t size = 0;
    const auto success = llvm::MCDisassembler::Success;
    if (target_.disassembler->getInstruction(out, size, bytes, address, llvm::nulls()) != success) return false;
    if (size != 1 || bytes.size() <= 1) return true;
    // A prefix alone: the scheduling facts are those of what it precedes.
    out = llvm::MCInst();
    return target_.disassembler->getInstruction(out, size, Bytes(bytes.begin() + 1, bytes.end()), address + 1,
                                                llvm::nulls()) == success;
}

void Describer::learn_memory_parts() {
    const auto facts_of = [&](const Bytes& bytes) -> std::optional<Scheduled> {
        llvm::MCInst code;
        return decode(bytes, 0, code) ? schedule_.of(code) : std::nullopt;
    };
    // mov, movaps, vmovaps with (%rax); ldr, str x0 and q0
    const std::vector<Bytes> loads =
        x86_ ? std::vector<Bytes>{{0x48, 0x8b, 0x00}, {0x0f, 0x28, 0x00}, {0xc5, 0xfc, 0x28, 0x00}}
             : std::vector<Bytes>{{0x00, 0x00, 0x40, 0xf9}, {0x00, 0x00, 0xc0, 0x3d}};
    const std::vector<Bytes> stores =
        x86_ ? std::vector<Bytes>{{0x48, 0x89, 0x00}, {0x0f, 0x29, 0x00}, {0xc5, 0xfc, 0x29, 0x00}}
             : std::vector<Bytes>{{0x00, 0x00, 0x00, 0xf9}, {0x00, 0x00, 0x80, 0x3d}};
    for (std::size_t i = 0; i < loads.size(); ++i) {
        const auto facts = facts_of(loads[i]);
        if (!facts) continue;
        for (const PortUse& use : facts->ports) load_ports_.push_back(use.ports);
        if (i == 0) plain_load_ = facts->ports;
        (i == 0 ? general_load_ : i == 1 ? vector_load_ : wide_load_) = facts->latency;
    }
    if (loads.size() < 3) wide_load_ = vector_load_;
    for (std::size_t i = 0; i < stores.size(); ++i) {
        const auto facts = facts_of(stores[i]);
        if (!facts) continue;
        for (const PortUse& use : facts->ports) store_ports_.push_back(use.ports);
        if (i == 0) plain_store_ = facts->ports;
    }
}

bool Describer::is_address_operand(const llvm::MCInst& code, const trace::StaticInstruction& what,
                                   unsigned operand) const {
    if (x86_) {
        const auto first = first_memory_operand(target_.instructions->get(code.getOpcode()));
        return first && operand >= *first && operand < *first + x86_memory_operands;
    }
    if (!what.loads && !what.stores) return false;
    const std::int8_t number = number_of(target_.registers->getName(code.getOperand(operand).getReg()), false);
    return number != trace::MemoryOperand::none && (number == what.memory.base || number == what.memory.index);
}

void Describer::add_uses(const llvm::MCInst& code, const Scheduled& facts, InstructionDescriptor& out) const {
    const llvm::MCInstrDesc& description = target_.instructions->get(code.getOpcode());
    const unsigned definitions = description.getNumDefs(),
                   operands = std::min(description.getNumOperands(), code.getNumOperands());
    const auto add = [&](unsigned id, bool address, int advance) {
        for (const Unit unit : schedule_.units(id))
            out.uses.push(
                {unit, address ? Part::load : Part::operation, static_cast<std::int8_t>(std::clamp(advance, -20, 20))});
    };
    for (unsigned i = definitions; i < operands; ++i) {
        const llvm::MCOperand& operand = code.getOperand(i);
        if (!operand.isReg() || !operand.getReg()) continue;
        add(operand.getReg(), is_address_operand(code, out.what, i), schedule_.advance(facts, i - definitions));
    }
    unsigned place = description.getNumOperands() - definitions;
    for (const llvm::MCPhysReg id : description.implicit_uses()) {
        // What push, pop, leave and string instructions address memory with, LLVM has among the implicit operands.
        const bool address = (out.what.push || out.what.pop || out.what.string || out.loads) &&
                             schedule_.is_general(id) && (schedule_.is_pointer(id) || out.what.string);
        add(id, address, schedule_.advance(facts, place++));
    }
}

void Describer::add_definitions(const llvm::MCInst& code, const Scheduled& facts, InstructionDescriptor& out) const {
    const llvm::MCInstrDesc& description = target_.instructions->get(code.getOpcode());
    unsigned place = 0;
    const auto add = [&](unsigned id) {
        const unsigned latency = schedule_.latency(facts, place++);
        for (const Unit unit : schedule_.units(id))
            out.definitions.push({unit, static_cast<std::uint16_t>(latency), Part::operation, false});
        if (schedule_.is_general(id) &&
            !((out.what.push || out.what.pop) && target_.registers->getName(id) == llvm::StringRef("RSP")))
            out.writes_general = true;
        if (schedule_.is_vector(id)) out.writes_vector = true;
    };
    for (unsigned i = 0; i < description.getNumDefs() && i < code.getNumOperands(); ++i)
        if (code.getOperand(i).isReg() && code.getOperand(i).getReg())
            add(code.getOperand(i).getReg());
        else
            ++place;
    for (const llvm::MCPhysReg id : description.implicit_defs()) add(id);
}

void Describer::add_ports(const Scheduled& facts, InstructionDescriptor& out) const {
    const bool of_vector = std::any_of(out.uses.begin(), out.uses.end(),
                                       [&](const Use& use) { return schedule_.is_vector_unit(use.unit); });
    const auto add = [&](PortUse use, Part part) {
        use.part = part;
        if (part == Part::store && parameters_.general_store_cycles && !of_vector)
            use.cycles = static_cast<std::uint8_t>(std::min<unsigned>(use.cycles, parameters_.general_store_cycles));
        use.pools = schedule_.pools_of(use.ports);
        out.ports.push(use);
    };
    const bool loads = out.loads || out.prefetch;
    const auto part_of = [&](const PortUse& use) {
        if (loads && contains(load_ports_, use.ports)) return Part::load;
        if (out.stores && contains(store_ports_, use.ports)) return Part::store;
        return Part::operation;
    };
    for (const Part part : {Part::load, Part::operation, Part::store}) {
        const std::uint8_t before = out.ports.count;
        for (const PortUse& use : facts.ports)
            if (part_of(use) == part) add(use, part);
        // LLVM leaves the memory part of calls, returns and some others to the imagination.
        if (out.ports.count > before) continue;
        if (part == Part::load && loads)
            for (const PortUse& use : plain_load_) add(use, part);
        if (part == Part::store && out.stores)
            for (const PortUse& use : plain_store_) add(use, part);
    }
    out.count_uses();
}

void Describer::set_load_latency(const llvm::MCInst& code, const Scheduled& facts, InstructionDescriptor& out) {
    const bool into_vector = out.writes_vector;
    unsigned modelled = into_vector ? vector_load_ : general_load_;
    int advance = 0;
    for (Use& use : out.uses) {
        if (use.part == Part::operation) advance = std::max<int>(advance, use.advance);
        if (use.part == Part::operation && use.advance > 0) use.advance = 0;  // the load is a part of its own here
    }
    if (advance > 0)
        modelled = static_cast<unsigned>(advance);
    else if (out.what.plain_load && !out.stores && out.operation_uses == 0 && facts.latency >= general_load_)
        modelled = facts.latency;
    out.load_latency = static_cast<std::uint16_t>(modelled);
    const trace::MemoryOperand& operand = out.what.memory;
    const bool plain_index = parameters_.plain_index_costs_nothing && operand.scale == 1 && operand.displacement == 0;
    const bool simple = !into_vector && (!x86_ || operand.index == trace::MemoryOperand::none || plain_index);
    if (parameters_.load_cycles && simple) {
        // Some models give every load the latency of one with an index.
        const unsigned excess = general_load_ > parameters_.load_cycles ? general_load_ - parameters_.load_cycles : 0;
        out.load_latency =
            static_cast<std::uint16_t>(std::max(parameters_.load_cycles, modelled - std::min(modelled, excess)));
        if (modelled <= general_load_) out.load_latency = static_cast<std::uint16_t>(parameters_.load_cycles);
    }
    if (into_vector && parameters_.vector_load_cycles) {
        const unsigned excess =
            vector_load_ > parameters_.vector_load_cycles ? vector_load_ - parameters_.vector_load_cycles : 0;
        out.load_latency = static_cast<std::uint16_t>(modelled - std::min(modelled, excess));
    }
    const auto on_registers = out.operation_uses ? latency_on_registers(code.getOpcode()) : std::nullopt;
    // LLVM's latency of an operation on memory is that of its way through memory, which is worked out here.
    constexpr std::uint16_t way_through_memory = 4;
    const bool modifies = out.stores && !out.locked;
    for (Definition& definition : out.definitions) {
        if (definition.latency >= modelled) {
            definition.latency = static_cast<std::uint16_t>(definition.latency - modelled);
            if (modifies && definition.latency >= way_through_memory) definition.latency = 1;
            if (on_registers) definition.latency = static_cast<std::uint16_t>(*on_registers);
        } else
            definition.part = Part::load;  // a base register that moves on
    }
}

void Describer::set_slots(const Scheduled& facts, InstructionDescriptor& out) const {
    unsigned micro_ops = facts.micro_ops;
    if (parameters_.fuses_memory_operand && x86_ && micro_ops > 1) {
        if (out.loads) --micro_ops;   // load and operation
        if (out.stores) --micro_ops;  // address and data
        micro_ops = std::max(micro_ops, 1u);
    }
    if (x86_ && (out.what.call || out.what.returns)) micro_ops = std::max(micro_ops, 2u);
    if (!out.executes) micro_ops = 1;
    out.slots = static_cast<std::uint16_t>(out.joins_previous ? 0u : std::max(1u, micro_ops));
    out.microcoded = parameters_.microcode_above && out.slots > parameters_.microcode_above;
}

/// LLVM has a string instruction as it is by itself. Repeated, it moves many bytes at once, and its pointers and
/// counter go on whatever is on its way.
void Describer::describe_piece(InstructionDescriptor& out) const {
    out.moves_string = true;
    out.ports.count = 0;
    const auto add = [&](const std::vector<PortUse>& uses, Part part) {
        for (PortUse use : uses) {
            use.part = part;
            use.cycles = 1;
            use.pools = schedule_.pools_of(use.ports);
            out.ports.push(use);
        }
    };
    if (out.loads) add(plain_load_, Part::load);
    add(plain_store_, Part::store);
    for (Definition& definition : out.definitions) {
        definition.part = Part::load;
        definition.latency = 1;
    }
    out.slots = out.loads ? 2 : 1;
    out.microcoded = parameters_.microcode_above > 0;
}

const std::vector<std::size_t>& Describer::corrections_of(unsigned opcode) {
    const auto [found, fresh] = corrections_by_opcode_.try_emplace(opcode);
    if (fresh) {
        // LLVM has some instructions twice: for its own use and by another encoding.
        llvm::StringRef plain = target_.instructions->getName(opcode);
        plain.consume_back("_REV");
        plain.consume_back("_Int");
        const std::string name = plain.str();
        for (std::size_t i = 0; i < corrections_.size(); ++i) {
            const bool by_bytes_alone = corrections_[i].what.instructions.empty();
            if (by_bytes_alone || std::regex_match(name, corrections_[i].instructions)) found->second.push_back(i);
        }
    }
    return found->second;
}

void Describer::replace_ports(const std::vector<PortUse>& by, Part part, InstructionDescriptor& out) {
    Few<PortUse, 12> ports;
    for (const Part each : {Part::load, Part::operation, Part::store}) {
        if (each == part)
            for (const PortUse& use : by) ports.push(use);
        else
            for (const PortUse& use : out.ports)
                if (use.part == each) ports.push(use);
    }
    out.ports = ports;
}

void Describer::correct(const llvm::MCInst& code, InstructionDescriptor& out) {
    for (const std::size_t index : corrections_of(code.getOpcode())) {
        const CorrectionOf& correction = corrections_[index];
        const Correction& what = correction.what;
        if (!applies(correction, out)) continue;
        if (what.sooner_among_alike) {
            out.alike = static_cast<std::uint8_t>(index + 1);
            out.sooner_among_alike = static_cast<std::uint8_t>(*what.sooner_among_alike);
        }
        if (what.latency)
            for (Definition& definition : out.definitions)
                if (definition.part == Part::operation && !(out.moves_stack && definition.as_soon_as_source))
                    definition.latency = static_cast<std::uint16_t>(
                        *what.latency + (what.latency_of_chain ? out.sooner_among_alike : 0));
        if (correction.ports) replace_ports(*correction.ports, Part::operation, out);
        if (correction.store_ports) replace_ports(*correction.store_ports, Part::store, out);
        if (what.fetch_cycles) out.fetch_cycles = static_cast<std::uint8_t>(*what.fetch_cycles);
        if (what.micro_ops) {
            out.slots = static_cast<std::uint16_t>(*what.micro_ops);
            out.microcoded = parameters_.microcode_above && out.slots > parameters_.microcode_above;
        }
        if (what.general_source_cycles)
            for (Use& use : out.uses)
                if (use.part == Part::operation && schedule_.is_general_unit(use.unit))
                    use.advance = static_cast<std::int8_t>(-static_cast<int>(*what.general_source_cycles));
        if (what.reads_destination && out.definitions.count > 0) {
            const Unit destination = out.definitions.items[0].unit;
            if (*what.reads_destination) {
                out.uses.push({destination, Part::operation, 0});
            } else {
                const auto kept = std::remove_if(out.uses.begin(), out.uses.end(), [&](const Use& use) {
                    return use.unit == destination && use.part == Part::operation;
                });
                out.uses.count = static_cast<std::uint8_t>(kept - out.uses.begin());
            }
        }
    }
}

void Describer::fuse(InstructionDescriptor& out) const {
    // The pair is one operation, done by its second half, which waits for what this one waits for.
    out.fused = true;
    out.slots = 0;
    out.ports.count = out.load_uses;
    for (Definition& definition : out.definitions) {
        const bool flags = definition.unit == schedule_.carry() || definition.unit == schedule_.other_flags();
        if (flags) definition.latency = 0;
    }
    if (out.load_uses) out.slots = 0;
}

InstructionDescriptor Describer::describe(const trace::StaticInstruction& instruction, bool fused) {
    InstructionDescriptor out;
    out.what = instruction;
    out.length = instruction.length;
    if (!instruction.decoded) return out;
    llvm::MCInst code;
    if (!decode({instruction.bytes.begin(), instruction.bytes.begin() + instruction.length}, instruction.address, code))
        return out;
    auto facts = schedule_.of(code);
    if (!facts) return out;
    out.modelled = true;
    out.loads = instruction.loads && !instruction.prefetch;
    out.stores = instruction.stores;
    out.prefetch = instruction.prefetch;
    out.locked = instruction.locked;
    out.branch = instruction.branch;
    out.conditional = instruction.conditional;
    // The callee is in the trace.
    if (instruction.call || instruction.returns) facts->latency = 1;
    add_uses(code, *facts, out);
    add_definitions(code, *facts, out);
    add_ports(*facts, out);
    if (instruction.loads || instruction.prefetch) set_load_latency(code, *facts, out);
    if (!x86_ && out.loads) out.load_bytes = static_cast<std::uint8_t>(arm64_bytes(instruction));
    if (!x86_ && out.stores) out.store_bytes = static_cast<std::uint8_t>(arm64_bytes(instruction));
    if (x86_) describe_x86(target_, parameters_, schedule_, code, out);
    set_slots(*facts, out);
    correct(code, out);
    if (x86_ && instruction.repeated && out.stores) describe_piece(out);
    for (const Definition& definition : out.definitions)
        if (definition.part == Part::operation) out.latency = std::max(out.latency, definition.latency);
    if (out.branch && !out.latency) out.latency = 1;
    if (fused) fuse(out);
    out.count_uses();
    return out;
}

}  // namespace tmaprobe::model::core
