#include "counters/model/core/accounting.h"

#include <algorithm>

namespace tmaprobe::counters::model::core {

using llvm::mca::HWInstructionEvent;

void Accounting::onCycleBegin() {
    dispatched_ = issued_ = executed_ = retired_ = 0;
    refused_ = false;
}

void Accounting::onEvent(const llvm::mca::HWStallEvent&) { refused_ = true; }

void Accounting::onEvent(const HWInstructionEvent& event) {
    const std::size_t index = event.IR.getSourceIndex();
    if (event.Type == HWInstructionEvent::Retired) {
        ++retired_;
        front_end_.on_retired(index);
        return;
    }
    Dynamic* dynamic = front_end_.in_flight(index);
    if (!dynamic) return;
    if (event.Type == HWInstructionEvent::Dispatched) {
        const unsigned micro_ops = static_cast<const llvm::mca::HWInstructionDispatchedEvent&>(event).MicroOpcodes;
        dispatched_ += micro_ops;
        if (dynamic->owner.microcoded) facts_.uops_microcode += micro_ops;
        if (dynamic->owner.micro_ops > 1) facts_.uops_heavy += micro_ops;
    } else if (event.Type == HWInstructionEvent::Ready) {
        on_ready(*dynamic);
    } else if (event.Type == HWInstructionEvent::Issued) {
        on_issued(event, *dynamic);
    } else if (event.Type == HWInstructionEvent::Executed) {
        on_executed(index, *dynamic);
    }
}

void Accounting::on_ready(Dynamic& dynamic) {
    if (!dynamic.step.load || dynamic.owner.what.prefetch) return;
    // All operands are known and the load is about to issue: now, and not earlier, its address meets the
    // caches. The descriptor belongs to this instruction alone.
    const unsigned extra = memory_.load(dynamic.step.load, dynamic.owner.what.address, front_end_.cycle());
    if (!extra) return;
    dynamic.missed = true;
    dynamic.delay(extra);
}

void Accounting::on_issued(const HWInstructionEvent& event, Dynamic& dynamic) {
    const auto& resources = static_cast<const llvm::mca::HWInstructionIssuedEvent&>(event).UsedResources;
    if (!resources.empty()) issued_ += std::max(1u, dynamic.owner.micro_ops);
    if (dynamic.step.load && !dynamic.owner.what.prefetch) {
        ++loads_in_flight_;
        if (dynamic.missed) ++misses_in_flight_;
    }
}

void Accounting::on_executed(std::size_t index, Dynamic& dynamic) {
    ++executed_;
    if (dynamic.executed) return;
    if (dynamic.step.load && !dynamic.owner.what.prefetch) {
        if (loads_in_flight_) --loads_in_flight_;
        if (dynamic.missed && misses_in_flight_) --misses_in_flight_;
    }
    front_end_.on_executed(index);
}

void Accounting::onCycleEnd() {
    count(1);
    const bool quiet = !dispatched_ && !issued_ && !executed_ && !retired_ &&
                       (front_end_.supply() != Supply::wrong_path || !room_on_wrong_path());
    if (const std::uint64_t more = quiet ? quiet_.pass() : 0) count(more);
    if (on_counted) on_counted();
}

void Accounting::count(std::uint64_t cycles) {
    const Dynamic* oldest = front_end_.oldest();
    const bool stores_wait = front_end_.supply() == Supply::store_buffer_full;
    const bool load_waits = oldest && oldest->step.load && oldest->missed && !oldest->executed;
    // An operation with a first-level hit as operand waits for its other operands, the load long done.
    const bool is_load = oldest && oldest->step.load && (oldest->missed || oldest->owner.what.plain_load);
    share_out_slots(load_waits || stores_wait, cycles);

    facts_.cycles += cycles;
    facts_.slots += parameters_.slot_width * cycles;
    if (!dispatched_) facts_.cycles_dispatch_nothing += cycles;
    if (stores_wait) facts_.cycles_store_buffer_full += cycles;
    if (loads_in_flight_) facts_.cycles_load_in_flight += cycles;
    if (misses_in_flight_) facts_.cycles_l1_miss += cycles;
    if (issued_ == 0) {
        facts_.cycles_no_execute += cycles;
        // A first-level hit in flight beside a busy core is no stall on memory: the oldest must wait for it.
        if (misses_in_flight_ || (is_load && !oldest->executed)) facts_.cycles_no_execute_load += cycles;
        if (misses_in_flight_) facts_.cycles_no_execute_l1_miss += cycles;
        if (!loads_in_flight_ && stores_wait) facts_.cycles_store_bound += cycles;
    } else if (issued_ == 1) {
        facts_.cycles_one_execute += cycles;
    } else if (issued_ == 2) {
        facts_.cycles_two_execute += cycles;
    }
    if (!retired_ && oldest && !oldest->executed) {
        facts_.cycles_no_retire += cycles;
        if (is_load) facts_.cycles_no_retire_load += cycles;
    }
}

void Accounting::share_out_slots(bool memory_waits, std::uint64_t cycles) {
    const unsigned width = parameters_.slot_width;
    facts_.uops += dispatched_;  // of the first of these cycles, which alone can have any
    const unsigned left_of_one = dispatched_ < width ? width - dispatched_ : 0;
    const std::uint64_t left = left_of_one * cycles;
    const Supply supply = front_end_.supply();
    if (supply != Supply::wrong_path) wrong_path_ = 0;
    if (left == 0) return;
    if (supply == Supply::wrong_path && room_on_wrong_path()) {
        // The machine goes on down the wrong path until its buffers are full.
        wrong_path_ += left;
        facts_.uops_wrong_path += left;
    } else if (supply == Supply::recovering) {
        facts_.slots_recovery += left;
    } else if (refused_ || supply == Supply::store_buffer_full || supply == Supply::wrong_path) {
        facts_.slots_backend += left;
        if (memory_waits) facts_.slots_backend_memory += left;
        if (dispatched_ == 0) {
            facts_.cycles_backend_none += cycles;
            if (memory_waits) facts_.cycles_backend_none_memory += cycles;
        }
    } else {
        facts_.slots_frontend += left;
        if (dispatched_ == 0) {
            facts_.slots_frontend_latency += left;
            facts_.cycles_frontend_none += cycles;
        }
    }
}

}  // namespace tmaprobe::counters::model::core
