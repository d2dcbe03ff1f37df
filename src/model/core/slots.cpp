#include "model/core/slots.h"

#include <algorithm>
#include <utility>

namespace tmaprobe::model::core {

std::uint64_t Slots::rename(const Admission& admission, std::uint32_t step, unsigned count_wanted) {
    if (used_ && (used_ >= width_ || admission.begins_cycle)) end_cycle(admission, step);
    const std::uint64_t ready = std::max(admission.supplied, admission.room);
    if (ready > cycle_) lose_until(ready, admission, step);
    const std::uint64_t first = cycle_;
    last_from_ = used_;
    while (count_wanted > 0) {
        if (used_ == width_) pass(1);
        const unsigned taken = std::min(count_wanted, width_ - used_);
        // Counted in the cycle that they lie in: between two cycles the sums of all causes are the slots.
        facts_.uops += taken;
        count(SlotCause::retiring, step, taken);
        used_ += taken;
        count_wanted -= taken;
    }
    return first;
}

void Slots::end_cycle(const Admission& admission, std::uint32_t step) {
    if (used_ >= width_)
        pass(1);
    else
        lose_until(cycle_ + 1, admission, step);
}

void Slots::mispredicted(std::uint32_t branch, std::uint64_t resolved, std::uint64_t recovered) {
    branch_ = branch;
    resolved_ = resolved;
    recovered_ = recovered;
    wrong_path_ = 0;
    unknown_target_ = false;
}

void Slots::unknown_target(std::uint32_t branch) {
    branch_ = branch;
    unknown_target_ = true;
    ++facts_.unknown_targets;
}

void Slots::pass(std::uint64_t cycles) {
    facts_.cycles += cycles;
    facts_.slots += width_ * cycles;
    cycle_ += cycles;
    used_ = 0;
    if (at_next_boundary) std::exchange(at_next_boundary, nullptr)();
}

void Slots::lose_until(std::uint64_t end, const Admission& admission, std::uint32_t step) {
    while (cycle_ < end) {
        if (used_ >= width_) {
            pass(1);
            continue;
        }
        const bool partly = used_ > 0;
        // One cycle that something was renamed in, or as many as are alike.
        const auto alike = [&](std::uint64_t until) { return partly ? 1 : std::min(end, until) - cycle_; };
        std::uint64_t cycles = 0;
        const auto lost = [&] { return width_ * cycles - used_; };
        if (cycle_ < resolved_ && wrong_path_ + width_ <= reorder_buffer_) {
            // The machine goes on down the wrong path until its buffers are full.
            const std::uint64_t fits = (reorder_buffer_ - wrong_path_) / width_;
            cycles = std::min(alike(resolved_), std::max<std::uint64_t>(1, fits));
            wrong_path_ += lost();
            facts_.uops_wrong_path += lost();
            count(SlotCause::wrong_path, branch_, lost());
        } else if (cycle_ < resolved_) {
            cycles = alike(resolved_);
            lose_to_back_end(cycles, lost(), {}, branch_);
        } else if (cycle_ < recovered_) {
            cycles = alike(recovered_);
            facts_.slots_recovery += lost();
            count(SlotCause::recovery, branch_, lost());
        } else if (cycle_ < admission.supplied) {
            cycles = alike(admission.supplied);
            const bool anew = admission.supply == SlotCause::resteer;
            facts_.slots_frontend += lost();
            if (!partly) {
                facts_.slots_frontend_latency += lost();
                facts_.cycles_frontend_none += cycles;
                if (admission.supply == SlotCause::decoder_switch) facts_.cycles_decoder_switch += cycles;
                if (anew) (unknown_target_ ? facts_.cycles_unknown_target : facts_.cycles_resteer) += cycles;
            }
            count(admission.supply, anew ? branch_ : step, lost());
        } else if (cycle_ < admission.room) {
            const InFlight* oldest = retirement_.oldest(cycle_);
            std::uint64_t until = admission.room;
            if (cycle_ < admission.store_retires) until = std::min(until, admission.store_retires);
            if (oldest) {
                until = std::min(until, oldest->retires);
                if (cycle_ < oldest->issued)
                    until = std::min(until, oldest->issued);
                else if (cycle_ + oldest->port_waited <= oldest->done)
                    until = std::min(until, oldest->done - oldest->port_waited + 1);
                else if (cycle_ <= oldest->done)
                    until = std::min(until, oldest->done + 1);
            }
            cycles = std::max<std::uint64_t>(1, alike(until));
            lose_to_back_end(cycles, lost(), admission, step);
        } else {
            // Supplied and with room, but the cycle may not be shared.
            cycles = 1;
            facts_.slots_frontend += lost();
            if (!partly) {
                facts_.slots_frontend_latency += lost();
                facts_.cycles_frontend_none += cycles;
            }
            count(SlotCause::microcode, step, lost());
        }
        if (!partly) facts_.cycles_dispatch_nothing += cycles;
        pass(cycles);
    }
}

SlotCause Slots::cause_of_wait(const Admission& admission, const InFlight* oldest) const {
    if (waits_for_store(admission)) return SlotCause::store_buffer;
    SlotCause cause = SlotCause::retirement;
    if (oldest && cycle_ < oldest->issued) {
        cause = SlotCause::port;
    } else if (oldest && cycle_ <= oldest->done) {
        cause = oldest->waits;
        // Had it not waited for a port, it would be done by now.
        const bool late = cycle_ + oldest->port_waited > oldest->done;
        if (late && (cause == SlotCause::dependency || cause == SlotCause::l1)) cause = SlotCause::port;
    }
    // What waits for all before it, or is waited for by all after it, waits for memory with them.
    return admission.serializes && !is_memory(cause) ? SlotCause::serialization : cause;
}

void Slots::lose_to_back_end(std::uint64_t cycles, std::uint64_t lost, const Admission& admission, std::uint32_t next) {
    const InFlight* oldest = retirement_.oldest(cycle_);
    const bool store_buffer = waits_for_store(admission);
    const SlotCause cause = cause_of_wait(admission, oldest);
    if (admission.store_buffer_full) timeline_.lasts(During::store_buffer_full, cycle_, cycle_ + cycles);
    facts_.slots_backend += lost;
    if (is_memory(cause)) facts_.slots_backend_memory += lost;
    if (admission.store_buffer_full) facts_.cycles_store_buffer_full += cycles;
    if (used_ == 0) {
        facts_.cycles_backend_none += cycles;
        if (is_memory(cause)) facts_.cycles_backend_none_memory += cycles;
    }
    // A fence that waits is to blame, and not what it waits for.
    const bool fence_comes = cause == SlotCause::serialization && oldest && oldest->waits != cause;
    count(cause, oldest && !store_buffer && !fence_comes ? oldest->step : next, lost);
}

}  // namespace tmaprobe::model::core
