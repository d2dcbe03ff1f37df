#pragma once

// When each instruction of the executed path can be renamed, as far as fetching and decoding go.

#include <array>

#include "model/core/descriptor.h"
#include "model/core/loop_stream.h"
#include "model/core/occupancy.h"
#include "model/core/op_cache.h"
#include "model/core/simulate.h"
#include "model/core/slots.h"

namespace tmaprobe::model::core {

/// Numbers over one divisor, small ones divided once: a division takes longer than all else that is worked out of an
/// instruction.
class Shares {
  public:
    explicit Shares(unsigned divisor);
    double of(unsigned number) const { return number < known_.size() ? known_[number] : number / divisor_; }

  private:
    double divisor_;
    std::array<double, 32> known_;
};

/// Decoupled fetch with a clock of its own, in fractions of a cycle. It moves with the width of the op cache or of the
/// decoders, jumps over instruction cache misses and mispredicted branches, and may run ahead of renaming by the
/// micro-op queue. Branches are foretold by another clock, which runs ahead of it by some lines of code, and asks for
/// these lines.
class FrontEnd {
  public:
    /// `before`: what the op cache holds at first; null: nothing.
    FrontEnd(const CoreParameters& parameters, MemoryTiming& memory, const OpCache* before);
    /// Sets when and why not earlier an instruction reaches the micro-op queue. In program order.
    /// `at_hand`: it is there at once, whatever that takes.
    void supply(const InstructionDescriptor& what, std::uint64_t address, bool at_hand, Admission& admission);
    void renamed(std::uint64_t cycle, unsigned slots);
    /// Of the branch that comes next: whether it goes another way than a loop that is sent from the queue, which ends
    /// there. Before the other questions about it.
    bool leaves_loop(const trace::StaticInstruction& branch, bool taken, std::uint64_t target);
    /// Nothing is foretold or fetched, then.
    bool streams_loop() const { return loop_.streams(); }
    /// Fetching goes on at the branch's target, and where that was known.
    void took_branch(const trace::StaticInstruction& branch, std::uint64_t target, TargetKnown known);
    /// This branch, which comes next, taken or not, is foretold some cycles later than by a first level of the
    /// predictor that is right: of a direction or of a target it was wrong, or a target of its own is `confirmed`.
    void foretold_late(const trace::StaticInstruction& branch, bool taken, bool confirmed);
    /// Nothing is fetched before this cycle: a branch went another way than was foretold.
    void restart(std::uint64_t cycle);

  private:
    void fetch(const InstructionDescriptor& what, std::uint64_t address);
    void wait_until(double cycle, SlotCause cause);
    void enter_line(std::uint64_t address);
    void fetch_line(std::uint64_t address);
    bool is_short_loop() const;
    void enter(const OpCache::Place& place);

    const CoreParameters& parameters_;
    MemoryTiming& memory_;
    Shares op_cache_cycles_;                                    ///< of entries
    Shares decode_cycles_, dense_cycles_, missed_line_cycles_;  ///< of bytes
    double one_decoded_;                                        ///< cycles of an instruction
    OpCache op_cache_;
    LoopStream loop_;
    double block_began_ = 0;       ///< of a loop from the queue: from its last taken branch on
    bool from_sequencer_ = false;  ///< something was, since the last taken branch
    InOrder queue_;                ///< instructions, when renamed
    InOrder ahead_;                ///< lines that were foretold, when fetched
    double fetched_until_ = 0, foretold_until_ = 0;
    double window_began_ = 0;  ///< to come from the op cache
    double line_came_ = 0;     ///< the last one that the first level did not have
    double late_since_ = 0;    ///< what came before is no longer the reason for a delay
    SlotCause late_ = SlotCause::fetch_bandwidth;
    std::uint64_t last_line_ = ~0ull, last_address_ = 0;
    std::uint64_t last_taken_ = 0;                      ///< address of the last branch that was taken
    unsigned rounds_ = 0;                               ///< that it was taken in a row
    unsigned windows_in_order_ = 0, window_slots_ = 0;  ///< since then, and slots of the last of them so far
    bool too_dense_ = false;                            ///< of these windows, for the op cache: until a branch is taken
    unsigned since_taken_ = 0, round_ = 0;              ///< slots since then, and between it and the one before
    unsigned string_pieces_ = 0;                        ///< after the first of a repeated string instruction
    bool from_op_cache_ = false, line_missed_ = false;
    bool put_right_ = false;  ///< the next branch was foretold late
};

}  // namespace tmaprobe::model::core
