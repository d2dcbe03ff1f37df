#include "model/core/pipeline.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/core/fusion.h"

namespace tmaprobe::model::core {
Pipeline::Pipeline(const CoreParameters& parameters, const SchedulerSizes& schedulers, Descriptors& descriptors,
                   const trace::Trace& trace, const Window& window, MemoryTiming& memory, BranchOracle& branches)
    : parameters_(parameters),
      trace_(trace),
      window_(window),
      memory_(memory),
      branches_(branches),
      descriptors_(descriptors, trace),
      retirement_(parameters.reorder_buffer, parameters.retire_width, parameters.room_cycles),
      slots_(parameters.slot_width, parameters.reorder_buffer, retirement_, timeline_, facts_, window.observer),
      front_end_(parameters, memory, window.op_cache),
      ports_(parameters.changes.ports > 1, schedulers.choice, schedulers.groups),
      taking_one_(parameters.changes.ports > 1 ? 0 : schedulers.taking_one),
      load_buffer_(parameters.load_buffer),
      store_buffer_(parameters.store_buffer),
      general_registers_(parameters.general_registers),
      vector_registers_(parameters.vector_registers),
      stores_retire_(parameters.store_buffer),
      foretold_(parameters.foretold_forwards),
      paths_(parameters.renaming_paths, parameters.renaming_branches),
      wrong_path_(parameters, trace, memory, descriptors_),
      ready_(most_units, 0),
      producers_(window.execution ? most_units : 0, StepTimes::nothing),
      added_(most_units, 0),
      alike_(most_units, 0),
      hopes_(parameters.in_vain_cycles ? most_units : 0) {
    for (const unsigned entries : schedulers.entries) schedulers_.emplace_back(entries);
    if (window.execution) window.execution->steps.assign(trace.steps.size(), {});
    if (parameters.changes.prefetch_distance) look_ahead();
}

Simulated Pipeline::run() {
    const std::size_t end = window_.first + window_.count;
    std::uint32_t regions = window_.count ? trace_.steps[window_.first].regions : 0, next_regions = regions;
    PipelineFacts told;
    const auto tell_regions = [&] {
        if (!window_.on_regions) return;
        window_.on_regions(regions, facts_ - told);
        told = facts_;
        regions = next_regions;
    };
    bool starts = false;
    const auto at_boundary = [&] {
        timeline_.count_until(slots_.cycle());
        tell_regions();
        if (!std::exchange(starts, false)) return;
        at_start_ = facts_;
        if (window_.on_counting) window_.on_counting();
    };
    for (std::size_t step = window_.first; step < end; ++step) {
        execute(step);
        // What is counted lies between cycles: only there do instructions, operations and slots agree.
        if (step + 1 == window_.first + window_.lead_in) starts = true;
        if (window_.on_regions && step + 1 < end) next_regions = trace_.steps[step + 1].regions;
        if (starts || next_regions != regions) slots_.at_next_boundary = at_boundary;
    }
    if (window_.count) slots_.end_cycle({}, static_cast<std::uint32_t>(end - 1));
    timeline_.count_until(slots_.cycle());
    tell_regions();
    return {facts_ - at_start_, window_.count};
}

bool Pipeline::fuses_with_next(const InstructionDescriptor& first, std::size_t step) const {
    return step + 1 < window_.first + window_.count &&
           fuses(parameters_, first.what, trace_.instructions[trace_.steps[step + 1].instruction]);
}

void Pipeline::execute(std::size_t number) {
    const trace::Step& step = trace_.steps[number];
    step_ = static_cast<std::uint32_t>(number);
    const bool chosen = window_.chosen && (*window_.chosen)[step.instruction];
    at_hand_ = chosen && parameters_.changes.chosen_at_hand;
    never_waits_ = chosen && parameters_.changes.chosen_never_wait;
    const InstructionDescriptor* what = &descriptors_.at(number);
    const trace::StaticInstruction& instruction = trace_.instructions[step.instruction];
    if (!what->modelled) {
        ++facts_.unmodelled;
        ++facts_.instructions;
        if (window_.execution) {
            const std::uint64_t now = slots_.cycle();
            window_.execution->steps[number] = {now, now, now, now, StepTimes::nothing, now};
        }
        return;
    }
    if (what->what.fuses_with != trace::FusesWith::none && fuses_with_next(*what, number))
        what = &descriptors_.at(number, true);
    const Admission admission = admit(*what, instruction.address);
    unsigned slots = what->slots;
    if (what->moves_stack) {
        stack_moved_ = true;
    }
    const bool synchronizes =
        !what->moves_stack && stack_moved_ && what->reads_stack && parameters_.stack_engine_synchronizes;
    if (synchronizes) {
        stack_moved_ = false;
        ++slots;
    }
    const bool ahead = prefetches(*what, step);
    if (ahead) ++slots;
    const std::uint64_t renamed = slots_.rename(admission, step_, slots);
    if (synchronizes && parameters_.stack_synchronization_cycles)
        ready_[what->stack] =
            std::max(ready_[what->stack], renamed + issue_after_renaming) + parameters_.stack_synchronization_cycles;
    front_end_.renamed(renamed, slots);
    ports_.advance(renamed);
    timeline_.count_until(renamed);
    memory_.advance(renamed);
    hoped_ = {};
    const Times times = never_waits_ ? at_once(*what, step, renamed) : time(*what, step, renamed);
    if (ahead) prefetch_ahead(*what, step, times);
    if (window_.execution) note_execution(*what, times);
    define(*what, times);
    if (!hopes_.empty()) hand_on_hope(*what, renamed);
    const auto [done, retired] = retire(*what, step, times);
    if (window_.execution) {
        window_.execution->steps[number].done = done;
        window_.execution->steps[number].retired = retired;
    }
    if (parameters_.renames_memory_by_registers) places_.executed(*what);
    count(*what);
    if (what->branch) branch(*what, number, times);
}

Admission Pipeline::admit(const InstructionDescriptor& what, std::uint64_t address) {
    Admission admission;
    front_end_.supply(what, address, never_waits_, admission);
    admission.room = what.slots ? retirement_.room_at(what.slots) : 0;
    const auto wait_for = [&](std::uint64_t cycle) { admission.room = std::max(admission.room, cycle); };
    if (what.loads) wait_for(load_buffer_.room_at());
    if (what.writes_general) wait_for(general_registers_.room_at());
    if (what.writes_vector) wait_for(vector_registers_.room_at());
    if (what.executes && !never_waits_) {
        const std::uint64_t earliest = std::max({admission.supplied, admission.room, slots_.cycle()});
        for (const PortUse& use : what.ports) {
            if (use.pools) wait_for(room_in(use.pools, earliest, 1u + use.alike_before));
            if (takes_turn(use) && !ports_.open(use.ports, earliest)) wait_for(earliest + 1);
        }
    }
    if (what.stores && store_buffer_.room_at() > admission.room) {
        admission.room = store_buffer_.room_at();
        admission.store_buffer_full = admission.room > slots_.cycle();
        admission.store_retires = stores_retire_.room_at();
    }
    const std::uint64_t serialized = std::max(
        serialized_until_, what.serializes && !never_waits_ ? retirement_.last_retired_at() : std::uint64_t{0});
    admission.serializes = serialized > admission.room;
    wait_for(serialized);
    // One from the sequencer shares its cycle neither with what comes before it nor with what comes after.
    const bool alone = what.microcoded && parameters_.microcode_alone && !never_waits_;
    admission.begins_cycle = alone || last_alone_;
    last_alone_ = alone;
    return admission;
}

/// When one of the schedulers has room for so many. None is asked about later cycles: what it gives back until then
/// would be gone.
std::uint64_t Pipeline::room_in(std::uint16_t pools, std::uint64_t earliest, unsigned entries) {
    if (is_one_bit(pools))
        return schedulers_[static_cast<std::size_t>(std::countr_zero(pools))].room_at(earliest, entries);
    for (;;) {
        std::uint64_t next = ~std::uint64_t{0};
        for (std::uint16_t left = pools; left; left &= static_cast<std::uint16_t>(left - 1)) {
            Occupancy& scheduler = schedulers_[static_cast<std::size_t>(std::countr_zero(left))];
            if (scheduler.has_room_at(earliest, entries)) return earliest;
            next = std::min(next, scheduler.next_release());
        }
        earliest = std::max(earliest + 1, next);
    }
}

/// One of them that is not half full, else the emptiest: only where they are full does it matter which.
Occupancy& Pipeline::roomy_one(std::uint16_t pools, std::uint64_t cycle) {
    Occupancy* best = nullptr;
    for (; pools; pools &= static_cast<std::uint16_t>(pools - 1)) {
        Occupancy& scheduler = schedulers_[static_cast<std::size_t>(std::countr_zero(pools))];
        if (!scheduler.may_be_half_full()) return scheduler;
        if (!best || scheduler.occupied_at(cycle) < best->occupied_at(cycle)) best = &scheduler;
    }
    return *best;
}

Pipeline::Times Pipeline::time(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t renamed) {
    Times times(renamed);
    times.operands = operands(what);
    const std::uint64_t earliest = renamed + issue_after_renaming;
    if (!what.executes) {
        times.done = sum_fits(what) ? renamed : std::max(earliest, times.operands.operation) + what.latency;
        return times;
    }
    const bool accesses = what.loads || what.stores || what.prefetch;
    std::uint64_t address_known = accesses ? std::max(earliest, times.operands.address) : earliest;
    if (what.locked) address_known = std::max({address_known, memory_order_, memory_done_});
    if (accesses) address_known = std::max(address_known, memory_order_);
    times.addressed = times.issued = address_known;
    if (what.loads || what.prefetch) load(what, step, address_known, times);
    operate(what, times);
    if (what.stores) store(what, times);
    times.done = std::max({times.loaded, times.operated, times.stored});
    if (what.locked && parameters_.lock_cycles) {
        // No other access passes a locked one.
        times.operated = times.done = std::max(times.done, times.issued + parameters_.lock_cycles);
        times.waits = SlotCause::lock;
        memory_order_ = times.done;
    }
    if (accesses) memory_done_ = std::max(memory_done_, times.done);
    if (what.serializes) {
        serialized_until_ = times.done;
        times.waits = SlotCause::serialization;
    }
    return times;
}

void Pipeline::operate(const InstructionDescriptor& what, Times& times) {
    const std::uint64_t from = what.loads ? times.loaded : times.renamed + issue_after_renaming;
    const std::uint64_t ready = std::max(from, times.operands.operation);
    if (!what.operation_uses) {
        times.operated = ready;
        return;
    }
    if (!hopes_.empty()) hope_for_operands(what, hoped_.from ? times.renamed + issue_after_renaming : from);
    const std::uint64_t issued = take_ports(what, Part::operation, ready, times.renamed);
    if (!what.loads) times.issued = issued;
    times.port_waited = issued - ready + (ready > times.loaded ? 0 : times.port_waited);
    if (ready > times.loaded || !what.loads) times.waits = times.missed ? times.waits : SlotCause::dependency;
    times.operated = issued;
}

void Pipeline::store(const InstructionDescriptor& what, Times& times) {
    const unsigned operation = what.operation_uses ? what.latency : 0;
    const unsigned together = what.loads ? parameters_.read_modify_write_cycles : 0;
    const std::uint64_t source = times.operated + operation;
    const std::uint64_t ready =
        std::max({source + together, times.operands.address, times.renamed + issue_after_renaming});
    times.stored = take_ports(what, Part::store, ready, times.renamed);
    if (!what.loads && !what.operation_uses) times.issued = times.stored;
}

void Pipeline::define(const InstructionDescriptor& what, const Times& times) {
    const std::uint64_t source = std::max(times.renamed + issue_after_renaming, times.operands.operation);
    for (const Definition& definition : what.definitions) {
        alike_[definition.unit] = definition.part == Part::operation ? what.alike : 0;
        if (never_waits_) {
            ready_[definition.unit] = times.done;
            added_[definition.unit] = 0;
            continue;
        }
        if (definition.as_soon_as_source) {
            if (what.moves_stack) continue;
            const Unit from = what.source();
            if (!what.constant && from != no_unit) alike_[definition.unit] = alike_[from];
            const bool fits = sum_fits(what);
            ready_[definition.unit] = fits ? source : std::max(times.operated, source) + definition.latency;
            added_[definition.unit] = static_cast<std::int16_t>(fits ? sum_at_renaming(what) : 0);
            continue;
        }
        added_[definition.unit] = 0;
        if (!what.executes) {
            ready_[definition.unit] = times.renamed;
        } else if (definition.part == Part::load) {
            ready_[definition.unit] = times.issued + definition.latency;
        } else {
            ready_[definition.unit] = times.operated + definition.latency;
        }
    }
}

void Pipeline::note_execution(const InstructionDescriptor& what, const Times& times) {
    StepTimes& noted = window_.execution->steps[step_];
    std::uint64_t latest = times.renamed + issue_after_renaming;
    for (const Use& use : what.uses) {
        const auto ready = static_cast<std::int64_t>(ready_[use.unit]) - use.advance;
        // What is combined with what is loaded counts where it comes later than that.
        const std::uint64_t in_time = use.part == Part::operation && what.loads ? times.loaded : latest;
        if (ready <= static_cast<std::int64_t>(std::max(latest, in_time))) continue;
        latest = static_cast<std::uint64_t>(ready);
        noted.waits_for = producers_[use.unit];
    }
    if (times.forwarded_from != StepTimes::nothing && latest <= times.loaded) {
        noted.waits_for = times.forwarded_from;
        latest = times.issued;
    }
    noted.renamed = times.renamed;
    noted.issued = what.executes ? times.issued : times.renamed;
    noted.waited_until = latest;
    for (const Definition& definition : what.definitions)
        if (!(definition.as_soon_as_source && what.moves_stack)) producers_[definition.unit] = step_;
}

std::pair<std::uint64_t, std::uint64_t> Pipeline::retire(const InstructionDescriptor& what, const trace::Step& step,
                                                         const Times& times) {
    std::uint64_t done = times.done;
    if (what.executes && what.operation_uses && !never_waits_) done = std::max(done, times.operated + what.latency);
    if (what.stores && !never_waits_) done = std::max(done, times.stored + 1);
    const std::uint64_t before = retirement_.last_retired_at();
    const std::uint64_t retired =
        retirement_.add({0, times.issued, done, times.port_waited, 0, step_, times.waits}, what.slots);
    if (const std::uint64_t oldest_from = std::max(before + 1, times.renamed); what.executes && done > oldest_from) {
        facts_.cycles_no_retire += done - oldest_from;
        // An operation with a first-level hit as operand waits for its other operands, the load long done.
        if (what.loads && (times.missed || what.what.plain_load)) {
            facts_.cycles_no_retire_load += done - oldest_from;
            timeline_.lasts(During::oldest_loads, oldest_from, done);
        }
    }
    const std::uint64_t leaves_room = retired + parameters_.room_cycles;
    if (what.loads) load_buffer_.take(leaves_room);
    if (what.writes_general) general_registers_.take(leaves_room);
    if (what.writes_vector) vector_registers_.take(leaves_room);
    if (!what.stores) return {done, retired};
    const StoreCommit::Left left = commit(what, step, retired);
    store_buffer_.take(left.cycle);
    stores_retire_.take(retired);
    if (!step.store || what.what.string) return {done, retired};
    const RecentStore recent{step.store,
                             times.addressed,
                             times.stored,
                             what.operation_uses && !never_waits_ ? times.operated + what.latency : times.operated,
                             left.cycle,
                             0,
                             what.store_bytes,
                             left.in_part,
                             what.renamable_store,
                             what.what.memory.base,
                             what.what.memory.displacement,
                             step_,
                             parameters_.renames_memory_by_registers ? places_.named_by(what) : NamedPlace{}};
    forwarding_.add(recent);
    page_places_.add(recent);
    return {done, retired};
}

void Pipeline::count(const InstructionDescriptor& what) {
    ++facts_.instructions;
    if (what.fused) ++facts_.macro_fused;
    if (what.loads || what.prefetch) ++facts_.loads;
    if (what.stores) ++facts_.stores;
    if (what.microcoded) facts_.uops_microcode += what.slots;
    if (what.slots > 1) facts_.uops_heavy += what.slots;
}

void Pipeline::branch(const InstructionDescriptor& what, std::size_t step, const Times& times) {
    if (step + 1 >= trace_.steps.size()) return;
    const trace::StaticInstruction& branch = trace_.instructions[trace_.steps[step].instruction];
    const std::uint64_t next = trace_.instructions[trace_.steps[step + 1].instruction].address;
    const bool taken = next != branch.address + branch.length || branch.target == next;
    ++facts_.branches;
    if (what.conditional) ++facts_.conditional_branches;
    // A loop from the queue is not foretold; what would foretell it learns from it.
    const bool streamed = front_end_.streams_loop();
    const bool leaves = front_end_.leaves_loop(branch, taken, next) && !branches_.is_perfect();
    auto known = taken && !never_waits_ ? branches_.knows_target(branch) : TargetKnown::first_level;
    auto foretold = branches_.foretell(branch, taken, next);
    if (streamed) {
        known = TargetKnown::first_level;
        foretold = leaves ? Foretold::wrong : Foretold::right;
    }
    if ((foretold == Foretold::late || foretold == Foretold::confirmed) && !never_waits_)
        front_end_.foretold_late(branch, taken, foretold == Foretold::confirmed);
    if (taken) {
        ++facts_.branches_taken;
        paths_.took(branch.address);
        front_end_.took_branch(branch, next, known);
        if (known == TargetKnown::decoder) slots_.unknown_target(step_);
    }
    const bool wrong = foretold == Foretold::wrong && !never_waits_;
    const std::uint64_t resolved = std::max(times.operated, times.loaded) + std::max<std::uint64_t>(1, what.latency);
    if (what.conditional && window_.wrong_paths_load) {
        if (wrong) wrong_path_.follow(step, taken, times.renamed, resolved, {ready_.data(), descriptors_.units()});
        wrong_path_.note(step, taken);
    }
    if (!wrong) return;
    ++facts_.mispredicts;
    if (window_.observer) window_.observer->mispredicted(step_);
    slots_.mispredicted(step_, resolved, resolved + parameters_.recovery_cycles);
    front_end_.restart(resolved + parameters_.mispredict_penalty +
                       (branch.indirect && !branch.returns ? parameters_.indirect_penalty : 0));
}

}  // namespace tmaprobe::model::core
