#pragma once

// The slots at renaming: who gets them, and why the others are lost.

#include <cstdint>
#include <functional>

#include "model/core/causes.h"
#include "model/core/facts.h"
#include "model/core/retirement.h"
#include "model/core/timeline.h"

namespace tmaprobe::model::core {

/// When the next instruction could be renamed, and what keeps it.
struct Admission {
    std::uint64_t supplied = 0;                     ///< by the front end
    SlotCause supply = SlotCause::fetch_bandwidth;  ///< why not before
    std::uint64_t room = 0;                         ///< in the buffers of the back end
    bool store_buffer_full = false;                 ///< it is the last of them to have room
    std::uint64_t store_retires = 0;                ///< and this is when the store that is in its way retires
    bool serializes = false;    ///< it, or one before it, lets all before it end first, and nothing else has room last
    bool begins_cycle = false;  ///< shares no cycle with those before it
};

/// Gives slots to instructions in program order, cycle by cycle, and every lost one its cause and its instruction. A
/// slot is the front end's while nothing was supplied, else the back end's; after a mispredicted branch it is the wrong
/// path's. The instruction: what a misprediction costs, all of it, is the branch's; what the back end loses is the
/// oldest's, which it waits for, but a full store buffer is the store's that has no room; the rest is the instruction's
/// that comes late.
class Slots {
  public:
    Slots(unsigned width, unsigned reorder_buffer, Retirement& retirement, Timeline& timeline, PipelineFacts& facts,
          SlotObserver* observer)
        : width_(width),
          reorder_buffer_(reorder_buffer),
          retirement_(retirement),
          timeline_(timeline),
          facts_(facts),
          observer_(observer) {}

    /// The cycle in which the first of its `count` slots lies.
    std::uint64_t rename(const Admission& admission, std::uint32_t step, unsigned count);
    /// No more slots in the current cycle.
    void end_cycle(const Admission& admission, std::uint32_t step);
    /// What follows is on the wrong path until `resolved`, and in recovery until `recovered`.
    void mispredicted(std::uint32_t branch, std::uint64_t resolved, std::uint64_t recovered);
    /// The front end begins anew because the decoder had to find out where this branch goes.
    void unknown_target(std::uint32_t branch);
    std::uint64_t cycle() const { return cycle_; }
    /// Which slot of its cycle the first of those was that were renamed last.
    unsigned last_from() const { return last_from_; }
    /// Called once, between two cycles, as soon as the current one is over.
    std::function<void()> at_next_boundary;

  private:
    void lose_until(std::uint64_t cycle, const Admission& admission, std::uint32_t step);
    /// `next`: the step that waits to be renamed, or whose wrong path fills the buffers.
    void lose_to_back_end(std::uint64_t cycles, std::uint64_t lost, const Admission& admission, std::uint32_t next);
    /// A full store buffer is to blame for what its stores wait for once they have retired; before that they wait for
    /// the oldest, as all do.
    bool waits_for_store(const Admission& admission) const {
        return admission.store_buffer_full && cycle_ >= admission.store_retires;
    }
    SlotCause cause_of_wait(const Admission& admission, const InFlight* oldest) const;
    void count(SlotCause cause, std::uint32_t step, std::uint64_t lost) {
        facts_.by_cause[static_cast<std::size_t>(cause)] += lost;
        if (observer_ && lost) observer_->slots(cause, step, lost);
    }
    void pass(std::uint64_t cycles);

    unsigned width_, reorder_buffer_;
    Retirement& retirement_;
    Timeline& timeline_;
    PipelineFacts& facts_;
    SlotObserver* observer_;
    std::uint64_t cycle_ = 0;
    unsigned used_ = 0;  ///< of the current cycle
    unsigned last_from_ = 0;
    std::uint64_t resolved_ = 0, recovered_ = 0, wrong_path_ = 0;
    std::uint32_t branch_ = 0;  ///< after which the front end began anew last
    bool unknown_target_ = false;
};

}  // namespace tmaprobe::model::core
