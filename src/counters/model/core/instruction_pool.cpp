#include "counters/model/core/instruction_pool.h"

#include <algorithm>
#include <cstring>

#include "llvm/ADT/bit.h"
#include "llvm/MC/MCInst.h"

namespace tmaprobe::counters::model::core {
namespace {

constexpr unsigned call_latency = 1;  // the callee is in the trace

void copy(llvm::mca::InstrDesc& to, const llvm::mca::InstrDesc& from) {
    to.Writes = from.Writes;
    to.Reads = from.Reads;
    to.Resources = from.Resources;
    to.UsedBuffers = from.UsedBuffers;
    to.UsedProcResUnits = from.UsedProcResUnits;
    to.UsedProcResGroups = from.UsedProcResGroups;
    to.MaxLatency = from.MaxLatency;
    to.NumMicroOps = from.NumMicroOps;
    to.SchedClassID = from.SchedClassID;
    to.MustIssueImmediately = from.MustIssueImmediately;
    to.IsRecyclable = from.IsRecyclable;
    to.HasPartiallyOverlappingGroups = from.HasPartiallyOverlappingGroups;
}

/// LLVM 19 checks one choice of units and then takes another when the unit groups of an instruction
/// overlap, which ends in a group without a free unit. Here each such group is bound to one of its units,
/// distinct ones as far as there are.
void bind_overlapping_groups(llvm::mca::InstrDesc& description) {
    if (!description.HasPartiallyOverlappingGroups) return;
    llvm::SmallVector<std::pair<std::uint64_t, llvm::mca::ResourceUsage>, 4> bound;
    std::uint64_t used = 0;
    const auto occupy = [&](std::uint64_t unit, const llvm::mca::ResourceUsage& usage) {
        const auto same = std::find_if(bound.begin(), bound.end(), [&](const auto& entry) { return entry.first == unit; });
        if (same == bound.end())
            bound.emplace_back(unit, usage);
        else
            same->second.CS.setEnd(same->second.CS.end() + usage.size());
        used |= unit;
    };
    for (const auto& [mask, usage] : description.Resources)
        if (llvm::popcount(mask) == 1) occupy(mask, usage);
    for (const auto& [mask, usage] : description.Resources) {
        if (llvm::popcount(mask) == 1 || usage.isReserved()) continue;
        const std::uint64_t units = mask ^ llvm::bit_floor(mask);  // the highest bit is the group's own
        for (unsigned i = 0; i < usage.NumUnits && units; ++i) {
            const std::uint64_t unused = units & ~used;
            const std::uint64_t choice = unused ? unused : units;
            occupy(choice & (~choice + 1), llvm::mca::ResourceUsage(usage.CS, 1));
        }
    }
    description.Resources.assign(bound.begin(), bound.end());
    description.UsedProcResUnits = used;
    description.UsedProcResGroups = 0;
    description.HasPartiallyOverlappingGroups = false;
}

const Correction* correction_of(const StaticInstruction& instruction, const std::vector<Correction>& corrections) {
    const auto end = instruction.bytes.begin() + instruction.length;
    for (const Correction& correction : corrections)
        for (const auto& sequence : correction.bytes)
            if (std::search(instruction.bytes.begin(), end, sequence.begin(), sequence.end()) != end) return &correction;
    return nullptr;
}

/// Every result comes after the corrected latency, which a load's own comes before.
void correct(const Correction& correction, unsigned load_cycles, llvm::mca::InstrDesc& description) {
    if (!correction.latency) return;
    description.MaxLatency = correction.latency + load_cycles;
    for (llvm::mca::WriteDescriptor& write : description.Writes) write.Latency = correction.latency + load_cycles;
}

/// LLVM warns on stderr about calls and returns, whose targets it cannot know; here the trace says where
/// they went, and what is left of them is a push or a pop.
std::vector<std::uint8_t> stand_in(const StaticInstruction& instruction, const std::string& architecture) {
    const bool x86 = architecture == "x86_64";
    if (instruction.call) return x86 ? std::vector<std::uint8_t>{0x50} : std::vector<std::uint8_t>{0, 0, 0, 0x14};
    if (instruction.returns) return x86 ? std::vector<std::uint8_t>{0x41, 0x5b} : std::vector<std::uint8_t>{0, 0, 0, 0x14};
    return {instruction.bytes.begin(), instruction.bytes.begin() + instruction.length};
}

}  // namespace

Dynamic::Dynamic(Template& from) : owner(from), instruction((copy(description, from.description), description), from.prototype->getOpcode()) {
    reset();
}

void Dynamic::reset() {
    const llvm::mca::Instruction& prototype = *owner.prototype;
    instruction.reset();
    instruction.setUsedBuffers(description.UsedBuffers);
    instruction.setMayLoad(prototype.getMayLoad());
    instruction.setMayStore(prototype.getMayStore());
    instruction.setHasSideEffects(prototype.getHasSideEffects());
    instruction.setLoadBarrier(prototype.isALoadBarrier());
    instruction.setStoreBarrier(prototype.isAStoreBarrier());
    instruction.setBeginGroup(owner.begins_group);
    instruction.setEndGroup(owner.ends_group);
    instruction.setRetireOOO(prototype.getRetireOOO());
    if (prototype.isOptimizableMove()) instruction.setOptimizableMove();

    // The first use of this object copied the latencies; a delayed load must get them back.
    description.MaxLatency = owner.description.MaxLatency;
    for (std::size_t i = 0; i < description.Writes.size(); ++i)
        description.Writes[i].Latency = owner.description.Writes[i].Latency;
    auto& definitions = instruction.getDefs();
    definitions.clear();
    for (std::size_t i = 0; i < owner.write_index.size(); ++i) {
        const llvm::mca::WriteState& original = prototype.getDefs()[i];
        definitions.emplace_back(description.Writes[owner.write_index[i]], original.getRegisterID(),
                                 original.clearsSuperRegisters(), original.isWriteZero());
    }
    instruction.getUses().assign(prototype.getUses().begin(), prototype.getUses().end());
    announced = {};
    mispredicted = executed = missed = fused = false;
}

void Dynamic::delay(unsigned extra) {
    for (llvm::mca::WriteDescriptor& write : description.Writes) {
        // A stack pointer or an index register that is updated on the side does not wait for the data.
        const bool from_memory = write.Latency + 1 >= owner.description.MaxLatency && !(owner.what.pop && write.isImplicitWrite());
        if (from_memory) write.Latency += extra;
    }
    description.MaxLatency += extra;
    if (announced.RegisterID) announced.Latency += extra;
}

void Dynamic::wait_for(unsigned carrier, unsigned operand) {
    waited_for = {static_cast<int>(operand), operand, static_cast<llvm::MCPhysReg>(carrier), description.SchedClassID};
    instruction.getUses().emplace_back(waited_for, carrier);
}

void Dynamic::hasten(unsigned cycles, unsigned load_cycles) {
    if (description.MaxLatency < load_cycles) return;
    for (llvm::mca::WriteDescriptor& write : description.Writes)
        if (write.Latency >= load_cycles) write.Latency -= cycles;
    description.MaxLatency -= cycles;
}

void Dynamic::announce(unsigned carrier, unsigned latency) {
    announced.OpIndex = -1;
    announced.Latency = latency;
    announced.RegisterID = static_cast<llvm::MCPhysReg>(carrier);
    instruction.getDefs().emplace_back(announced, carrier, /*clearsSuperRegs=*/true);
}

InstructionPool::InstructionPool(const Target& target, const CoreParameters& parameters)
    : target_(target), parameters_(parameters), instruments_(*target.subtarget, *target.instructions),
      builder_(*target.subtarget, *target.instructions, *target.registers, target.analysis.get(), instruments_, call_latency) {}

Template& InstructionPool::get(const StaticInstruction& instruction, bool fused) {
    // Addresses on all supported systems leave the top bit free for user code.
    std::unique_ptr<Template>& found = templates_[instruction.address << 1 | (fused ? 1 : 0)];
    const bool stale = found && std::memcmp(found->what.bytes.data(), instruction.bytes.data(), instruction.bytes.size()) != 0;
    if (stale) replaced_.push_back(std::move(found));  // instructions in flight may still refer to it
    if (!found) found = make(instruction, fused);
    return *found;
}

std::unique_ptr<Template> InstructionPool::make(const StaticInstruction& instruction, bool fused) {
    auto made = std::make_unique<Template>();
    made->what = instruction;
    if (!instruction.decoded) return made;
    llvm::MCInst code;
    std::uint64_t size = 0;
    const std::vector<std::uint8_t> bytes = stand_in(instruction, parameters_.architecture);
    if (target_.disassembler->getInstruction(code, size, bytes, instruction.address, llvm::nulls()) != llvm::MCDisassembler::Success)
        return made;
    if (size == 1 && bytes.size() > 1) {
        // A prefix alone: the scheduling facts are those of what it precedes.
        const std::vector<std::uint8_t> rest(bytes.begin() + 1, bytes.end());
        code = llvm::MCInst();
        if (target_.disassembler->getInstruction(code, size, rest, instruction.address + 1, llvm::nulls()) != llvm::MCDisassembler::Success)
            return made;
    }
    auto built = builder_.createInstruction(code, {});
    if (!built) {
        llvm::consumeError(built.takeError());
        return made;
    }
    made->prototype = std::move(*built);
    const llvm::mca::InstrDesc& original = made->prototype->getDesc();
    copy(made->description, original);
    bind_overlapping_groups(made->description);
    std::size_t candidate = 0;
    for (const llvm::mca::WriteState& definition : made->prototype->getDefs()) {
        const auto writes_it = [&](const llvm::mca::WriteDescriptor& write) {
            const unsigned id = write.isImplicitWrite() ? unsigned{write.RegisterID} : code.getOperand(write.OpIndex).getReg();
            return id == definition.getRegisterID();
        };
        while (candidate < original.Writes.size() && !writes_it(original.Writes[candidate])) ++candidate;
        if (candidate == original.Writes.size()) return made;
        made->write_index.push_back(candidate++);
    }

    correct_latency(instruction, *made);
    unsigned micro_ops = original.NumMicroOps;
    if (const Correction* correction = correction_of(instruction, parameters_.corrections)) {
        correct(*correction, instruction.loads ? parameters_.load_cycles : 0, made->description);
        if (correction->micro_ops) micro_ops = correction->micro_ops;
    }
    const bool x86 = parameters_.architecture == "x86_64";
    if (parameters_.fuses_memory_operand && x86 && micro_ops > 1) {
        if (instruction.loads) --micro_ops;   // load and operation
        if (instruction.stores) --micro_ops;  // address and data
        micro_ops = std::max(micro_ops, 1u);
    }
    if (instruction.call || instruction.returns) micro_ops = std::max(micro_ops, x86 ? 2u : 1u);
    if (fused) {
        // The pair is one operation, done by its second half.
        micro_ops = 0;
        made->description.Resources.clear();
        made->description.UsedBuffers = made->description.UsedProcResUnits = made->description.UsedProcResGroups = 0;
        made->description.HasPartiallyOverlappingGroups = false;
        made->description.MaxLatency = 0;
        for (llvm::mca::WriteDescriptor& write : made->description.Writes) write.Latency = 0;
    }
    made->description.NumMicroOps = made->micro_ops = micro_ops;
    made->microcoded = parameters_.microcode_above && micro_ops > parameters_.microcode_above;
    made->begins_group = made->ends_group = made->microcoded && parameters_.microcode_alone;
    if (instruction.prefetch) made->prototype->setMayStore(false);
    made->modelled = true;
    return made;
}

unsigned InstructionPool::plain_load_cycles() {
    if (plain_load_cycles_) return plain_load_cycles_;
    // mov (%rax), %rax; ldr x0, [x0]
    const bool x86 = parameters_.architecture == "x86_64";
    const std::vector<std::uint8_t> bytes = x86 ? std::vector<std::uint8_t>{0x48, 0x8b, 0x00} : std::vector<std::uint8_t>{0x00, 0x00, 0x40, 0xf9};
    plain_load_cycles_ = parameters_.load_cycles;
    llvm::MCInst code;
    std::uint64_t size = 0;
    if (target_.disassembler->getInstruction(code, size, bytes, 0, llvm::nulls()) != llvm::MCDisassembler::Success) return plain_load_cycles_;
    auto built = builder_.createInstruction(code, {});
    if (built)
        plain_load_cycles_ = (*built)->getLatency();
    else
        llvm::consumeError(built.takeError());
    return plain_load_cycles_;
}

void InstructionPool::correct_latency(const StaticInstruction& instruction, Template& made) {
    llvm::mca::InstrDesc& description = made.description;
    const auto is_vector = [&](const llvm::mca::WriteState& write) {
        const llvm::StringRef name = target_.registers->getName(write.getRegisterID());
        return name.contains("MM") || (parameters_.architecture != "x86_64" && llvm::StringRef("BHSDQZ").contains(name.front()) && name != "SP");
    };
    const auto writes = llvm::ArrayRef<llvm::mca::WriteState>(made.prototype->getDefs());
    // Some models give every load the latency of one with an index.
    const bool plain = instruction.loads && instruction.memory.index == MemoryOperand::none && !instruction.pop && !instruction.string;
    if (plain && parameters_.load_cycles && !writes.empty() && llvm::none_of(writes, is_vector)) {
        const unsigned model = plain_load_cycles();
        const unsigned excess = model > parameters_.load_cycles ? model - parameters_.load_cycles : 0;
        if (excess && description.MaxLatency >= model) {
            for (llvm::mca::WriteDescriptor& write : description.Writes)
                if (write.Latency >= model) write.Latency -= excess;
            description.MaxLatency -= excess;
        }
    }
    if (!instruction.locked || parameters_.lock_cycles <= description.MaxLatency) return;
    // No other access may pass a locked one, and LLVM knows no latency for it.
    for (llvm::mca::WriteDescriptor& write : description.Writes) write.Latency = parameters_.lock_cycles;
    description.MaxLatency = parameters_.lock_cycles;
    made.prototype->setLoadBarrier(true);
    made.prototype->setStoreBarrier(true);
}

std::unique_ptr<Dynamic> InstructionPool::take(Template& owner) {
    if (owner.free.empty()) return std::make_unique<Dynamic>(owner);
    std::unique_ptr<Dynamic> dynamic = std::move(owner.free.back());
    owner.free.pop_back();
    dynamic->reset();
    return dynamic;
}

void InstructionPool::give_back(std::unique_ptr<Dynamic> dynamic) {
    Template& owner = dynamic->owner;
    owner.free.push_back(std::move(dynamic));
}

}  // namespace tmaprobe::counters::model::core
