#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/model/core/facts.h"
#include "counters/model/trace.h"

namespace tmaprobe::counters::model::core {

/// What LLVM's scheduling data has wrong of some instructions.
struct Correction {
    enum class When : std::uint8_t { always, scaled_index, relative };  ///< an address with a scaled index, or relative to the code
    std::vector<std::vector<std::uint8_t>> bytes;  ///< any of these sequences in an instruction's encoding; or
    std::string instructions;  ///< a regular expression for the whole of LLVM's names of them
    std::optional<unsigned> latency;    ///< of the operation, without a load
    std::optional<unsigned> micro_ops;  ///< slots at renaming
    std::optional<std::map<std::string, unsigned>> ports;  ///< cycles of resources, of the operation alone; by the end of LLVM's names
    std::optional<unsigned> general_source_cycles;  ///< that the way from a general register takes longer
    std::optional<unsigned> fetch_cycles;   ///< that the front end takes longer for it
    When when = When::always;               ///< of these instructions, those with such an operand
    std::optional<bool> reads_destination;  ///< a dependency that the instruction's result does not need
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
    unsigned store_forward_cycles = 5;  ///< of a load whose data comes from the store buffer, from the store on
    unsigned store_forward_failed_cycles = 14;  ///< of a load that needs more than the store wrote, or parts of two
    bool renames_memory = false;  ///< a plain load of what a plain store wrote to the same place takes no time
    bool renames_memory_operands = false;  ///< so does a load of another size at that place, and one that an operation needs
    unsigned length_changing_prefix_cycles = 0;  ///< that the decoders take longer for a constant of two bytes
    unsigned same_address_loads = 0;     ///< that one cycle can serve; 0: any number
    unsigned read_modify_write_cycles = 0;  ///< that an operation on memory takes longer than load, operation and store
    unsigned lock_cycles = 0;  ///< of a locked or atomic operation on a line that is owned; 0: as without
    unsigned store_buffer = 56;
    unsigned load_buffer = 0;  ///< 0: as LLVM's model has it, or without limit
    unsigned general_store_cycles = 0;  ///< of a store port, for a store of a general register; 0: as LLVM's model has it
    unsigned stores_committed = 1;  ///< stores to one line that leave the store buffer in a cycle
    unsigned reorder_buffer = 224;
    unsigned retire_width = 0;      ///< micro-ops a cycle; 0: as LLVM's model has it, or slot_width
    unsigned general_registers = 0, vector_registers = 0;  ///< to rename into; 0: as LLVM's model has it, or without limit
    unsigned scheduler = 0;         ///< entries of all schedulers together; 0: as LLVM's model has them
    unsigned split_line_cycles = 0; ///< that a load takes longer when it lies in two lines
    bool binds_ports_at_renaming = false;  ///< a micro-op's port is chosen when it is renamed, not when it is issued
    bool eliminates_general_moves = false, eliminates_vector_moves = false;
    unsigned adds_constants_below = 0;  ///< sums of a 64-bit register and constants take no time while they stay below; 0: they do
    bool stack_engine = false;                ///< push, pop, call and return change the stack pointer at renaming
    bool stack_engine_synchronizes = false;   ///< an explicit use of the stack pointer then costs a micro-op
    std::vector<Correction> corrections;      ///< of LLVM's scheduling data
};

struct Loaded {
    unsigned extra = 0;        ///< cycles beyond a first-level hit until the data can be used
    Cause waits = Cause::l1;   ///< for what
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

/// How much of the trace to simulate.
struct Window {
    std::size_t first = 0, count = 0;   ///< steps of the trace
    std::size_t lead_in = 0;            ///< of these, executed before counting starts
    std::function<void()> on_counting;  ///< called when the lead-in is over
    SlotObserver* observer = nullptr;   ///< hears of every slot, lead-in included
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
    virtual Result<Simulated> simulate(const Trace& trace, const Window& window, MemoryTiming& memory,
                                       BranchOracle& branches) = 0;
};

/// Errors: unavailable when LLVM has no scheduling model of that name.
Result<std::unique_ptr<Core>> make_core(const CoreParameters& parameters);

}  // namespace tmaprobe::counters::model::core
