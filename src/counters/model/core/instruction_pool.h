#pragma once

// LLVM's dynamic instructions, made once for each instruction in memory and used again and again.

#include <memory>
#include <unordered_map>
#include <vector>

#include "counters/model/core/simulate.h"
#include "counters/model/core/target.h"
#include "llvm/MCA/CustomBehaviour.h"
#include "llvm/MCA/InstrBuilder.h"
#include "llvm/MCA/Instruction.h"

namespace tmaprobe::counters::model::core {

struct Template;

/// One instruction on its way through the pipeline. It has a descriptor of its own because the latency
/// of a load is only known when its address meets the caches.
struct Dynamic {
    explicit Dynamic(Template& owner);
    void reset();  ///< back to the state before dispatch
    /// Makes results that come from memory arrive `extra` cycles later. Before issue only.
    void delay(unsigned extra);
    /// Makes it wait for the last instruction that announced this register. Before dispatch only.
    void wait_for(unsigned carrier, unsigned operand);
    /// Makes results that take at least `load_cycles` arrive `cycles` earlier. Before issue only.
    void hasten(unsigned cycles, unsigned load_cycles);
    /// Makes later waiters of this register wait until `latency` cycles after issue. Before dispatch only.
    void announce(unsigned carrier, unsigned latency);

    Template& owner;
    llvm::mca::InstrDesc description;
    llvm::mca::Instruction instruction;
    llvm::mca::ReadDescriptor waited_for{};
    llvm::mca::WriteDescriptor announced{};
    Step step;
    bool mispredicted = false, executed = false, missed = false;
    bool fused = false;  ///< the first half of a fused pair: free
    std::uint64_t dispatched_at = 0;
};

/// What is the same for every execution of one instruction.
struct Template {
    StaticInstruction what;  ///< a copy: the trace of a window ends with the window
    std::unique_ptr<llvm::mca::Instruction> prototype;
    std::vector<const llvm::mca::WriteDescriptor*> writes;  ///< of the prototype's definitions, in order
    std::vector<std::size_t> write_index;                   ///< into the descriptor's Writes
    llvm::mca::InstrDesc description;
    bool modelled = false;
    bool microcoded = false;
    unsigned micro_ops = 1;
    bool begins_group = false, ends_group = false;
    std::vector<std::unique_ptr<Dynamic>> free;
};

class InstructionPool {
  public:
    InstructionPool(const Target& target, const CoreParameters& parameters);
    /// The template for an instruction in memory; made on first sight. `fused` asks for the free first half
    /// of a fused pair. Not modelled: LLVM has no scheduling facts for it.
    Template& get(const StaticInstruction& instruction, bool fused);
    std::unique_ptr<Dynamic> take(Template& owner);
    static void give_back(std::unique_ptr<Dynamic> dynamic);

  private:
    std::unique_ptr<Template> make(const StaticInstruction& instruction, bool fused);
    /// Cycles that LLVM's model takes for a plain load into a general register.
    unsigned plain_load_cycles();
    /// LLVM's latencies where the target's geometry knows better: plain loads, locked operations.
    void correct_latency(const StaticInstruction& instruction, Template& made);

    const Target& target_;
    const CoreParameters& parameters_;
    llvm::mca::InstrumentManager instruments_;
    llvm::mca::InstrBuilder builder_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Template>> templates_;
    std::vector<std::unique_ptr<Template>> replaced_;
    unsigned plain_load_cycles_ = 0;  ///< 0: not asked yet
};

}  // namespace tmaprobe::counters::model::core
