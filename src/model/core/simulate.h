#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/cpu_geometry.h"
#include "events/smt.h"
#include "model/core/facts.h"
#include "model/core/op_cache.h"
#include "trace/trace.h"

namespace tmaprobe::model::core {

using events::Correction;

/// What of a core is other than it is, to see what it is worth.
struct CoreChanges {
    unsigned width = 1;  ///< times as many slots, decoders, entries of the op cache and retirements in a cycle
    unsigned ports = 1;  ///< times as many ports of each kind; 1 or 2
    unsigned reorder_buffer = 1,
             memory_buffers = 1;     ///< times as many entries; registers and schedulers with the first
    bool perfect_front_end = false;  ///< delivers what it is asked for; branches are still mispredicted
    bool forwarding_never_fails = false;
    std::vector<events::SmtStructure> halved;  ///< the other half is a busy sibling's
    // Of the instructions that Window::chosen names:
    bool chosen_at_hand = false;     ///< they wait for no value: registers and forwarded stores
    bool chosen_never_wait = false;  ///< they take their slots and nothing else, nor does anything wait for them
    unsigned prefetch_distance = 0;  ///< loads that miss often are prefetched as many executions before; 0: none

    bool operator==(const CoreChanges&) const = default;
};

/// The target core: what its data file says, and what that does not know.
struct CoreParameters : events::CoreGeometry {
    std::string architecture;
    unsigned load_cycles = 0;  ///< first-level hit into a general register, load to use; 0: as LLVM's model has it
    std::vector<Correction> corrections;  ///< of LLVM's scheduling data
    CoreChanges changes;
};

struct Loaded {
    unsigned extra = 0;               ///< cycles beyond a first-level hit until the data can be used
    SlotCause waits = SlotCause::l1;  ///< for what
    int sent_by = 1;                  ///< 1 to 3: which cache's level, 4: memory
    unsigned translation = 0;         ///< cycles until the translation was there; 0: the first level has it
    bool asks_for_translation = false, asks_for_line = false;  ///< else it was on its way already
};

/// What the memory system answers. Cycles are those of the pipeline.
class MemoryTiming {
  public:
    virtual ~MemoryTiming() = default;
    /// No later question is about a cycle before this one. Otherwise loads ask in program order, not in that of cycles.
    virtual void advance(std::uint64_t) {}
    /// A load that is issued at `cycle`.
    virtual Loaded load(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) = 0;
    /// The cycle in which a store that retired at `cycle` has its line and may leave the store buffer.
    virtual std::uint64_t store(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) = 0;
    /// A hint that nothing waits for.
    virtual void prefetch(std::uint64_t address, std::uint64_t cycle) = 0;
    /// What lies there is in the first level from now on, and nothing waited for it.
    virtual void bring(std::uint64_t) {}
    /// A load that is none of the program's, but brings its line all the same. Cycles beyond a first-level hit until
    /// what depends on it could go on.
    virtual unsigned load_in_vain(std::uint64_t, std::uint64_t) { return 0; }
    /// The same, of the second line of a load whose first line waits for another level or does not.
    virtual unsigned load_rest(std::uint64_t address, bool /*first_waits*/, std::uint64_t cycle) {
        return load_in_vain(address, cycle);
    }
    /// Cycles beyond a first-level hit until the code line can be decoded.
    virtual unsigned fetch(std::uint64_t address, std::uint64_t cycle) = 0;
};

/// What knows the target of a branch that is foretold to be taken.
enum class TargetKnown : std::uint8_t { first_level, second_level, decoder };

/// How a branch was foretold. Late: right, but some cycles after what follows it could have been asked for. Confirmed:
/// the first guess at a target that is not always the same was right.
enum class Foretold : std::uint8_t { right, confirmed, late, wrong };

/// Foretells branches; asked once for each executed branch, in program order.
class BranchOracle {
  public:
    virtual ~BranchOracle() = default;
    /// Of a branch that went so; after one that is wrong, the front end follows another path. Learns from the answer.
    virtual Foretold foretell(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) = 0;
    bool mispredicts(const trace::StaticInstruction& branch, bool taken, std::uint64_t target) {
        return foretell(branch, taken, target) == Foretold::wrong;
    }
    /// Whether no branch is ever wrong: a loop that the core sends by itself ends where it should, too.
    virtual bool is_perfect() const { return false; }
    /// Asked for each taken branch. Learns the target.
    virtual TargetKnown knows_target(const trace::StaticInstruction&) { return TargetKnown::first_level; }
};

/// When one step of a trace was where in the core.
struct StepTimes {
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};
    std::uint64_t renamed = 0, issued = 0, done = 0, retired = 0;
    std::uint32_t waits_for = nothing;  ///< the step whose result it waited for last
    std::uint64_t waited_until = 0;     ///< that this result was there
};

/// Cycles that a step took of one of some ports.
struct TakenPort {
    std::uint32_t step = 0;
    std::uint32_t cycles = 0;
    std::uint64_t ports = 0;  ///< a bit for each that would do
};

/// What went on in the core, step by step.
struct Execution {
    std::vector<StepTimes> steps;
    std::vector<TakenPort> ports;
};

/// How much of the trace to simulate.
struct Window {
    std::size_t first = 0, count = 0;                   ///< steps of the trace
    std::size_t lead_in = 0;                            ///< of these, executed before counting starts
    std::function<void()> on_counting;                  ///< called when the lead-in is over
    SlotObserver* observer = nullptr;                   ///< hears of every slot, lead-in included
    const OpCache* op_cache = nullptr;                  ///< as it is before the window; null: empty
    bool wrong_paths_load = true;                       ///< what the right path asks for later
    Execution* execution = nullptr;                     ///< takes what goes on, if it is wanted
    const std::vector<std::uint8_t>* chosen = nullptr;  ///< by number: instructions that CoreChanges are about
    /// Called between two cycles where other regions open, and at the end: what the steps with these regions
    /// (Step::regions) took, lead-in included. Empty: nobody asks.
    std::function<void(std::uint32_t regions, const PipelineFacts& took)> on_regions;
};

struct Simulated {
    PipelineFacts facts;
    std::size_t steps = 0;  ///< simulated, lead-in included
};

/// One target core. Descriptors of instructions are kept from one window to the next.
class Core {
  public:
    virtual ~Core() = default;
    /// Runs one window from an empty pipeline. Errors: bad_input for a window that is not within the trace.
    virtual Result<Simulated> simulate(const trace::Trace& trace, const Window& window, MemoryTiming& memory,
                                       BranchOracle& branches) = 0;
    /// As LLVM calls them, without what all of them have in front.
    virtual std::vector<std::string> port_names() const = 0;
};

/// Errors: unavailable when LLVM has no scheduling model of that name.
Result<std::unique_ptr<Core>> make_core(const CoreParameters& parameters);

}  // namespace tmaprobe::model::core
