#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "counters/slot_attribution.h"
#include "model/call_follower.h"
#include "model/core/causes.h"
#include "model/own_addresses.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// Notes the slots of a window as the core tells them, and adds them up when it is over.
class SlotTally final : public core::SlotObserver {
  public:
    explicit SlotTally(const trace::Trace& trace) : trace_(trace) { noted_.reserve(2 * trace.steps.size()); }

    void slots(core::SlotCause cause, std::uint32_t step, std::uint64_t count) override {
        noted_.push_back({step, cause, count});
    }
    void loaded(std::uint32_t step, std::uint64_t cycles, bool missed_l1) override {
        met_.push_back({step, missed_l1, false, cycles});
    }
    void mispredicted(std::uint32_t step) override { met_.push_back({step, false, true, 0}); }
    /// Slots of instructions are from now on those of steps in these paths of regions (trace::Step::regions) alone;
    /// times are of all.
    void only_in(std::function<bool(std::uint32_t path)> inside) { inside_ = std::move(inside); }
    /// Counting begins now: forgets the lead-in.
    void reset() {
        noted_.clear();
        met_.clear();
    }

    /// Slots of each instruction of the trace, whatever the cause.
    std::vector<std::uint64_t> by_instruction() const;
    /// By real address, where the trace has those of `addresses`. Code that was rewritten at the same place is one
    /// instruction.
    counters::InstructionSlots by_address(const OwnAddresses& addresses = {}) const;
    /// Which calls allocated what lies at a real address; 0: not known. Empty: nobody knows.
    using AllocationAt = std::function<std::uint32_t(std::uint64_t address)>;
    /// Those of waits for memory, by the data that were waited for, which lie in `pages`.
    counters::AccessSlots by_access(const OwnAddresses& addresses, const trace::PageMap& pages,
                                    const AllocationAt& allocation_at = {}) const;

    /// What loads and branches met; executions are those from step `lead_in` on.
    counters::InstructionEvents events_by_address(const OwnAddresses& addresses, std::size_t lead_in) const;

    /// By the calls that led to each instruction; `follower` knows those that were made before the trace began.
    counters::CallPaths by_call(CallFollower follower, const OwnAddresses& addresses = {}) const;

    /// Slots of each instruction, in all regions, without causes.
    std::map<std::uint64_t, double> time_by_address(const OwnAddresses& addresses = {}) const;
    /// The same of each path of regions (trace::Step::regions).
    std::map<std::uint32_t, std::map<std::uint64_t, double>> time_by_region(const OwnAddresses& addresses) const;

  private:
    bool counts(std::uint32_t step) const { return !inside_ || inside_(trace_.steps[step].regions); }

    const trace::Trace& trace_;
    std::function<bool(std::uint32_t path)> inside_;
    struct Noted {
        std::uint32_t step;
        core::SlotCause cause;
        std::uint64_t count;
    };
    std::vector<Noted> noted_;
    struct Met {
        std::uint32_t step;
        bool missed_l1, mispredicted;  ///< not the latter: it is a load
        std::uint64_t load_cycles;
    };
    std::vector<Met> met_;
};

}  // namespace tmaprobe::model
