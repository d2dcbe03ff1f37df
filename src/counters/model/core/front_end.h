#pragma once

// The first stage of the pipeline: takes the executed path from the trace and decides when each
// instruction could be dispatched.

#include <deque>
#include <memory>
#include <vector>

#include "counters/model/core/instruction_pool.h"
#include "counters/model/core/simulate.h"
#include "counters/model/core/store_forwarding.h"
#include "llvm/MCA/HWEventListener.h"
#include "llvm/MCA/Stages/Stage.h"

namespace tmaprobe::counters::model::core {

/// Which code windows the op cache holds: sets of least recently used windows.
class OpCache {
  public:
    explicit OpCache(const CoreParameters& parameters);
    /// Whether the window was there; it is afterwards.
    bool touch(std::uint64_t window);

  private:
    std::size_t ways_;
    std::vector<std::vector<std::uint64_t>> sets_;
};

/// Why nothing more reached dispatch in a cycle.
enum class Supply { ready, fetching, wrong_path, recovering, store_buffer_full, finished };

/// Decoupled fetch: `fetched_until_` is the front end's own clock, in fractions of a cycle. It moves with the
/// width of the op cache or of the decoders, jumps over instruction cache misses and mispredicted
/// branches, and may run ahead of dispatch by the micro-op queue.
class FrontEnd final : public llvm::mca::Stage {
  public:
    FrontEnd(const CoreParameters& parameters, InstructionPool& pool, const Trace& trace, const Window& window,
             StoreForwarding& forwarding, MemoryTiming& memory, BranchOracle& branches, PipelineFacts& facts);

    bool isAvailable(const llvm::mca::InstRef& instruction) const override;
    bool hasWorkToComplete() const override;
    llvm::Error execute(llvm::mca::InstRef& instruction) override;
    llvm::Error cycleStart() override;
    llvm::Error cycleEnd() override;

    /// By the index that InstRef carries; null once it has left.
    Dynamic* in_flight(std::size_t index);
    /// The oldest instruction in the pipeline; null when it is empty.
    const Dynamic* oldest() const { return in_flight_.empty() ? nullptr : in_flight_.front().get(); }
    void on_executed(std::size_t index);
    void on_retired(std::size_t index);
    std::function<void()> on_finished;  ///< called once, in the cycle in which nothing is left to dispatch
    Supply supply() const { return supply_; }
    std::uint64_t cycle() const { return cycle_; }
    /// All in the pipeline, oldest first.
    const std::deque<std::unique_ptr<Dynamic>>& in_flight() const { return in_flight_; }
    /// How many further cycles supply() and what it waits for stay as they are, if nothing executes.
    std::uint64_t quiet_cycles() const;
    void pass_cycles(std::uint64_t cycles) { cycle_ += cycles; }
    std::size_t taken_steps() const { return next_step_ - window_.first; }

  private:
    void take_next();
    void time_supply(const Template& what, const Step& step);
    void predict(Dynamic& dynamic);
    bool fuses_with_next(const StaticInstruction& first) const;
    void leave_store_buffer();

    const CoreParameters& parameters_;
    InstructionPool& pool_;
    const Trace& trace_;
    const Window& window_;
    StoreForwarding& forwarding_;
    MemoryTiming& memory_;
    BranchOracle& branches_;
    PipelineFacts& facts_;
    OpCache op_cache_;

    std::size_t next_step_;
    bool stopped_ = false, finished_ = false;
    std::unique_ptr<Dynamic> current_;  ///< fetched, not yet dispatched
    std::size_t first_index_ = 0;       ///< of in_flight_.front()
    std::deque<std::unique_ptr<Dynamic>> in_flight_;

    std::uint64_t cycle_ = 0;
    std::uint64_t simulated_cycles_ = 0;  ///< without those that were passed over
    double fetched_until_ = 0;
    std::uint64_t available_at_ = 0;  ///< of current_
    std::uint64_t last_line_ = 0, last_window_ = 0;
    bool from_op_cache_ = false;
    std::deque<std::uint64_t> dispatch_times_;  ///< of as many instructions as the micro-op queue holds
    bool waiting_for_branch_ = false;
    std::size_t branch_index_ = 0;
    std::uint64_t last_retired_at_ = 0;
    std::uint64_t recovered_at_ = 0;  ///< end of the recovery part of the last mispredict
    std::deque<std::uint64_t> draining_;  ///< when each retired store leaves the store buffer
    std::size_t stores_in_flight_ = 0;
    mutable Supply supply_ = Supply::fetching;
};

}  // namespace tmaprobe::counters::model::core
