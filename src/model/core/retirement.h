#pragma once

// The reorder buffer: who is the oldest when, and what it waits for.

#include <cstdint>
#include <vector>

#include "model/core/causes.h"

namespace tmaprobe::model::core {

/// An instruction between renaming and retirement.
struct InFlight {
    /// Kept in the reorder buffer, the first and the last are later by the cycles until others have its room.
    std::uint64_t retires = 0, issued = 0, done = 0;
    std::uint64_t port_waited = 0;            ///< cycles that it was ready and its ports were not, on its way to done
    std::uint64_t micro_ops_until = 0;        ///< of all instructions up to this one
    std::uint32_t step = 0;                   ///< of the trace
    SlotCause waits = SlotCause::dependency;  ///< for what, once issued
};

class Retirement {
  public:
    /// `room_cycles`: from when one retires until others can be renamed into its room. Until then it is the oldest.
    Retirement(unsigned reorder_buffer, unsigned width, unsigned room_cycles);
    /// The first cycle in which there is room for so many micro-ops more.
    std::uint64_t room_at(std::uint64_t micro_ops);
    /// In program order. Returns the cycle in which it retires. (In the header, so that the parts are written to where
    /// they stay: a copy of what was written in parts just now waits until all of them have left the store buffer.)
    std::uint64_t add(const InFlight& instruction, std::uint64_t micro_ops) {
        const std::uint64_t earliest = instruction.done + 1;
        if (earliest > cycle_) {
            cycle_ = earliest;
            used_ = 0;
        }
        used_ += static_cast<unsigned>(micro_ops);
        for (; used_ > width_; used_ -= width_) ++cycle_;
        micro_ops_ += micro_ops;
        // What is overwritten has retired: no more than the ring can be in flight.
        if (end_ - full_ > mask_) freed_ = at(full_++).micro_ops_until;
        if (end_ - oldest_ > mask_) ++oldest_;
        InFlight& here = at(end_++);
        here = instruction;
        here.retires = cycle_ + room_cycles_;
        here.done += room_cycles_;
        here.micro_ops_until = micro_ops_;
        return cycle_;
    }
    /// The oldest that has not retired in this cycle; cycles do not go back. Null: all have.
    const InFlight* oldest(std::uint64_t cycle);
    std::uint64_t last_retired_at() const { return cycle_; }

  private:
    InFlight& at(std::uint64_t number) { return ring_[number & mask_]; }

    std::uint64_t capacity_;
    unsigned width_, room_cycles_, used_ = 0;
    std::uint64_t cycle_ = 0;  ///< of the last retirement
    std::uint64_t micro_ops_ = 0, freed_ = 0;
    std::uint64_t end_ = 0, full_ = 0, oldest_ = 0;  ///< numbers: next to be added, oldest for room, oldest for causes
    std::uint64_t mask_;
    std::vector<InFlight> ring_;
};

}  // namespace tmaprobe::model::core
