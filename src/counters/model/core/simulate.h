#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/model/trace.h"

namespace tmaprobe::counters::model::core {

/// What LLVM's scheduling model has wrong of some instructions, and a published figure in its place.
struct Correction {
    std::vector<std::vector<std::uint8_t>> bytes;  ///< any of these sequences in an instruction's encoding
    unsigned latency = 0;    ///< of its registers' form; 0: as LLVM has it
    unsigned micro_ops = 0;  ///< 0: as LLVM has it
};

/// The target core beyond what LLVM's scheduling model says of it. All widths per cycle.
struct CoreParameters {
    std::string architecture, llvm_cpu;
    unsigned slot_width = 4;         ///< slots per cycle, as the CPU's top-down formulas count them
    unsigned op_cache_windows = 64;  ///< 0: no op cache
    unsigned op_cache_window_bytes = 64, op_cache_ways = 8, op_cache_width = 8;
    unsigned decode_width = 4, decode_bytes = 16;
    unsigned micro_op_queue = 64;    ///< between fetch and dispatch
    unsigned mispredict_penalty = 15;  ///< cycles from a branch's resolution to the next dispatch
    unsigned recovery_cycles = 0;    ///< of these, counted as recovery and not as front end
    unsigned microcode_above = 0;    ///< instructions of more micro-ops come from the sequencer; 0: none do
    bool microcode_alone = false;    ///< a sequenced instruction shares no dispatch cycle with others
    unsigned microcode_penalty = 0;  ///< cycles to switch to the sequencer where it can share
    bool fuses_compare_and_branch = false;
    bool fuses_memory_operand = false;  ///< LLVM counts load and operation apart; the slots count them once
    unsigned load_cycles = 0;  ///< first-level hit into a general register, load to use; 0: as LLVM's model has it
    unsigned store_forward_cycles = 5;  ///< of a load whose data comes from a store that has issued; 0: the core
                                        ///< renames memory, so that the data is there at once
    unsigned lock_cycles = 0;  ///< of a locked or atomic operation on a line that is owned; 0: as without
    unsigned store_buffer = 56;
    unsigned reorder_buffer = 224;
    std::vector<Correction> corrections;
};

/// What the memory system answers. Cycles are those of the pipeline.
class MemoryTiming {
  public:
    virtual ~MemoryTiming() = default;
    /// Cycles beyond a first-level hit until the data of a load issued at `cycle` can be used.
    virtual unsigned load(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) = 0;
    /// The cycle in which a store that retired at `cycle` has its line and may leave the store buffer.
    virtual std::uint64_t store(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) = 0;
    /// A hint that nothing waits for.
    virtual void prefetch(std::uint64_t address, std::uint64_t cycle) = 0;
    /// Cycles beyond a first-level hit until the code line can be decoded.
    virtual unsigned fetch(std::uint64_t address, std::uint64_t cycle) = 0;
};

/// Foretells branches; asked once for each executed branch, in program order.
class BranchOracle {
  public:
    virtual ~BranchOracle() = default;
    /// True when the front end follows the wrong path after this branch. Learns from the answer.
    virtual bool mispredicts(const StaticInstruction& branch, bool taken, std::uint64_t target) = 0;
};

/// Sums over the simulated window. Slots: retiring + frontend + backend + bad_speculation + recovery
/// = slot_width * cycles, exactly.
struct PipelineFacts {
    std::uint64_t cycles = 0, instructions = 0, slots = 0;
    std::uint64_t uops = 0;             ///< of the executed path, as slots count them
    std::uint64_t uops_wrong_path = 0;  ///< dispatched after a mispredicted branch and thrown away
    std::uint64_t uops_microcode = 0, uops_heavy = 0;  ///< heavy: of instructions of more than one
    std::uint64_t macro_fused = 0;
    std::uint64_t slots_frontend = 0, slots_frontend_latency = 0;
    std::uint64_t slots_backend = 0, slots_backend_memory = 0, slots_recovery = 0;
    std::uint64_t cycles_frontend_none = 0;  ///< nothing was delivered though it could have been taken
    std::uint64_t cycles_no_execute = 0, cycles_no_execute_load = 0;
    std::uint64_t cycles_one_execute = 0, cycles_two_execute = 0;
    std::uint64_t cycles_store_bound = 0;  ///< nothing executed, no load in flight, store buffer full
    std::uint64_t cycles_load_in_flight = 0;
    std::uint64_t cycles_l1_miss = 0, cycles_no_execute_l1_miss = 0;  ///< a load waits for more than the first level
    std::uint64_t cycles_no_retire = 0, cycles_no_retire_load = 0;  ///< the oldest is not complete; and is a load
    std::uint64_t cycles_dispatch_nothing = 0;
    std::uint64_t cycles_backend_none = 0;  ///< of these, refused by the back end
    std::uint64_t cycles_backend_none_memory = 0;  ///< of these, the oldest waits for memory or stores have no room
    std::uint64_t cycles_store_buffer_full = 0;  ///< a store could not be dispatched for want of room
    std::uint64_t branches = 0, branches_taken = 0, conditional_branches = 0, mispredicts = 0;
    std::uint64_t loads = 0, stores = 0;
    std::uint64_t unmodelled = 0;  ///< executed instructions that the core model does not know
};

/// The difference of two snapshots.
PipelineFacts operator-(const PipelineFacts& later, const PipelineFacts& earlier);

/// By name, as mapping files call them.
std::map<std::string, double> named(const PipelineFacts& facts);

/// How much of the trace to simulate.
struct Window {
    std::size_t first = 0, count = 0;   ///< steps of the trace
    std::size_t lead_in = 0;            ///< of these, executed before counting starts
    std::uint64_t cycle_limit = 400000; ///< simulation ends here even when steps are left; cycles in which
                                        ///< nothing can happen are not counted
    bool every_cycle = false;           ///< simulates even cycles in which nothing can happen; for tests
    std::function<void()> on_counting;  ///< called when the lead-in is over
};

struct Simulated {
    PipelineFacts facts;
    std::size_t steps = 0;  ///< simulated, lead-in included
};

/// One target core. Descriptors of instructions are kept from one window to the next.
class Core {
  public:
    virtual ~Core() = default;
    /// Runs one window from an empty pipeline. Errors: system when LLVM's simulation fails.
    virtual Result<Simulated> simulate(const Trace& trace, const Window& window, MemoryTiming& memory,
                                       BranchOracle& branches) = 0;
};

/// Errors: unavailable when LLVM has no scheduling model of that name.
Result<std::unique_ptr<Core>> make_core(const CoreParameters& parameters);

}  // namespace tmaprobe::counters::model::core
