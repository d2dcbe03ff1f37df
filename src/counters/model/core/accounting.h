#pragma once

// Where the slots of each cycle went, from LLVM's events.

#include <functional>

#include "counters/model/core/front_end.h"
#include "counters/model/core/quiet_cycles.h"
#include "llvm/MCA/HWEventListener.h"

namespace tmaprobe::counters::model::core {

/// Each cycle has `slot_width` slots. Dispatched micro-ops fill slots; the rest of a cycle belongs to the
/// back end when dispatch was refused, to bad speculation or recovery after a mispredicted branch, and to
/// the front end when nothing was there to dispatch.
class Accounting final : public llvm::mca::HWEventListener {
  public:
    Accounting(const CoreParameters& parameters, FrontEnd& front_end, QuietCycles& quiet, MemoryTiming& memory, PipelineFacts& facts)
        : parameters_(parameters), front_end_(front_end), quiet_(quiet), memory_(memory), facts_(facts) {}

    std::function<void()> on_counted;  ///< called when all facts of a cycle are in

    void onCycleBegin() override;
    void onCycleEnd() override;
    void onEvent(const llvm::mca::HWInstructionEvent& event) override;
    void onEvent(const llvm::mca::HWStallEvent& event) override;

  private:
    void on_ready(Dynamic& dynamic);
    void on_issued(const llvm::mca::HWInstructionEvent& event, Dynamic& dynamic);
    void on_executed(std::size_t index, Dynamic& dynamic);
    /// Counts `cycles` alike cycles, of which this was the first.
    void count(std::uint64_t cycles);
    void share_out_slots(bool memory_waits, std::uint64_t cycles);
    bool room_on_wrong_path() const { return wrong_path_ + parameters_.slot_width <= parameters_.reorder_buffer; }

    const CoreParameters& parameters_;
    FrontEnd& front_end_;
    QuietCycles& quiet_;
    MemoryTiming& memory_;
    PipelineFacts& facts_;
    unsigned dispatched_ = 0, issued_ = 0, executed_ = 0, retired_ = 0;
    bool refused_ = false;
    std::size_t loads_in_flight_ = 0, misses_in_flight_ = 0;
    std::uint64_t wrong_path_ = 0;  ///< micro-ops since the last mispredicted branch
};

}  // namespace tmaprobe::counters::model::core
