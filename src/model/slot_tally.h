#pragma once

#include <map>
#include <vector>

#include "counters/slot_attribution.h"
#include "model/core/causes.h"
#include "model/own_addresses.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// Adds up the slots of a window by instruction and cause, as the core tells them.
class SlotTally final : public core::SlotObserver {
  public:
    explicit SlotTally(const trace::Trace& trace) : trace_(trace), slots_(trace.instructions.size()) {}

    void slots(core::SlotCause cause, std::uint32_t instruction, std::uint64_t count) override {
        slots_[instruction][static_cast<std::size_t>(cause)] += count;
    }
    /// Counting begins now: forgets the lead-in.
    void reset() { slots_.assign(slots_.size(), {}); }

    /// By real address, where the trace has those of `addresses`. Code that was rewritten at the same place is one
    /// instruction.
    counters::InstructionSlots by_address(const OwnAddresses& addresses = {}) const;

    /// The same without causes.
    std::map<std::uint64_t, double> time_by_address(const OwnAddresses& addresses = {}) const;

  private:
    const trace::Trace& trace_;
    std::vector<counters::SlotsByCause> slots_;  ///< of each instruction of the trace
};

}  // namespace tmaprobe::model
