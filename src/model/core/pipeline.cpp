#include "model/core/pipeline.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tmaprobe::model::core {
namespace {

constexpr unsigned issue_after_renaming = 1;
constexpr unsigned commit_after_data = 2;  ///< of a store that nothing holds up

}  // namespace

Pipeline::Pipeline(const CoreParameters& parameters, const std::vector<unsigned>& schedulers, Descriptors& descriptors,
                   const trace::Trace& trace, const Window& window, MemoryTiming& memory, BranchOracle& branches)
    : parameters_(parameters),
      descriptors_(descriptors),
      trace_(trace),
      window_(window),
      memory_(memory),
      branches_(branches),
      retirement_(parameters.reorder_buffer, parameters.retire_width),
      slots_(parameters.slot_width, parameters.reorder_buffer, retirement_, timeline_, facts_, window.observer),
      front_end_(parameters, memory, window.op_cache),
      ports_(parameters.binds_ports_at_renaming, parameters.changes.ports > 1),
      load_buffer_(parameters.load_buffer),
      store_buffer_(parameters.store_buffer),
      general_registers_(parameters.general_registers),
      vector_registers_(parameters.vector_registers),
      stores_retire_(parameters.store_buffer),
      wrong_path_(parameters, trace, memory,
                  [this](std::size_t step) -> const InstructionDescriptor& { return descriptor(step, false); }),
      seen_(2 * trace.instructions.size(), nullptr),
      ready_(most_units, 0),
      producers_(window.execution ? most_units : 0, StepTimes::nothing),
      added_(most_units, 0) {
    for (const unsigned entries : schedulers) schedulers_.emplace_back(entries);
    if (window.execution) window.execution->steps.assign(trace.steps.size(), {});
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

const InstructionDescriptor& Pipeline::descriptor(std::size_t step, bool fused) {
    const std::uint32_t number = trace_.steps[step].instruction;
    const InstructionDescriptor*& seen = seen_[2 * number + (fused ? 1 : 0)];
    if (!seen) seen = &descriptors_.get(trace_.instructions[number], fused);
    return *seen;
}

bool Pipeline::fuses_with_next(const InstructionDescriptor& first, std::size_t step) const {
    if (!parameters_.fuses_compare_and_branch || !first.what.fusible_first || step + 1 >= window_.first + window_.count)
        return false;
    return trace_.instructions[trace_.steps[step + 1].instruction].conditional;
}

void Pipeline::execute(std::size_t number) {
    const trace::Step& step = trace_.steps[number];
    step_ = static_cast<std::uint32_t>(number);
    const InstructionDescriptor* what = &descriptor(number, false);
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
    if (what->what.fusible_first && fuses_with_next(*what, number)) what = &descriptor(number, true);
    const Admission admission = admit(*what, instruction.address);
    unsigned slots = what->slots;
    if (what->moves_stack) {
        stack_moved_ = true;
    } else if (stack_moved_ && what->reads_stack && parameters_.stack_engine_synchronizes) {
        stack_moved_ = false;
        ++slots;
    }
    const std::uint64_t renamed = slots_.rename(admission, step_, slots);
    front_end_.renamed(renamed, slots);
    ports_.advance(renamed);
    timeline_.count_until(renamed);
    memory_.advance(renamed);
    const Times times = time(*what, step, renamed);
    if (window_.execution) note_execution(*what, times);
    define(*what, times);
    const auto [done, retired] = retire(*what, step, times);
    if (window_.execution) {
        window_.execution->steps[number].done = done;
        window_.execution->steps[number].retired = retired;
    }
    count(*what);
    if (what->branch) branch(*what, number, times);
}

Admission Pipeline::admit(const InstructionDescriptor& what, std::uint64_t address) {
    Admission admission;
    front_end_.supply(what, address, admission);
    admission.room = what.slots ? retirement_.room_at(what.slots) : 0;
    const auto wait_for = [&](std::uint64_t cycle) { admission.room = std::max(admission.room, cycle); };
    if (what.loads) wait_for(load_buffer_.room_at());
    if (what.writes_general) wait_for(general_registers_.room_at());
    if (what.writes_vector) wait_for(vector_registers_.room_at());
    if (what.executes) {
        const std::uint64_t earliest = std::max({admission.supplied, admission.room, slots_.cycle()});
        unsigned wanted[most_pools + 1] = {};
        for (const PortUse& use : what.ports)
            if (use.pool) ++wanted[use.pool];
        for (std::size_t pool = 1; pool <= schedulers_.size(); ++pool)
            if (wanted[pool]) wait_for(schedulers_[pool - 1].room_at(earliest, wanted[pool]));
    }
    if (what.stores && store_buffer_.room_at() > admission.room) {
        admission.room = store_buffer_.room_at();
        admission.store_buffer_full = admission.room > slots_.cycle();
        admission.store_retires = stores_retire_.room_at();
    }
    const std::uint64_t serialized =
        std::max(serialized_until_, what.serializes ? retirement_.last_retired_at() : std::uint64_t{0});
    admission.serializes = serialized > admission.room;
    wait_for(serialized);
    // One from the sequencer shares its cycle neither with what comes before it nor with what comes after.
    const bool alone = what.microcoded && parameters_.microcode_alone;
    admission.begins_cycle = alone || last_alone_;
    last_alone_ = alone;
    return admission;
}

std::uint64_t Pipeline::known(const InstructionDescriptor& what, Part part, std::uint64_t from) const {
    for (const Use& use : what.uses)
        if (use.part == part) from = std::max(from, use.usable_from(ready_[use.unit]));
    return from;
}

std::uint64_t Pipeline::take_ports(const InstructionDescriptor& what, Part part, std::uint64_t ready,
                                   std::uint64_t renamed) {
    std::uint64_t issued = ready;
    unsigned micro_ops = 0;
    for (const PortUse& use : what.ports) {
        if (use.part != part) continue;
        std::uint64_t first = 0;
        for (unsigned cycle = 0; cycle < use.cycles; ++cycle) {
            const std::uint64_t taken = ports_.take(use.ports, cycle ? first : ready, renamed);
            if (cycle == 0) first = taken;
        }
        if (window_.execution) window_.execution->ports.push_back({step_, use.cycles, use.ports});
        if (use.pool) schedulers_[use.pool - 1].take(first + 1);
        issued = std::max(issued, first);
        ++micro_ops;
    }
    if (micro_ops)
        timeline_.issued(
            issued, part == Part::operation ? std::max<unsigned>(1, std::min<unsigned>(micro_ops, what.slots)) : 1);
    return issued;
}

Pipeline::Times Pipeline::time(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t renamed) {
    Times times;
    times.renamed = renamed;
    const std::uint64_t earliest = renamed + issue_after_renaming;
    times.issued = times.loaded = times.operated = times.done = earliest;
    if (!what.executes) {
        times.done = renamed;
        return times;
    }
    const bool accesses = what.loads || what.stores || what.prefetch;
    std::uint64_t address_known = accesses ? known(what, Part::load, earliest) : earliest;
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

void Pipeline::load(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t ready, Times& times) {
    std::uint64_t issued = take_ports(what, Part::load, ready, times.renamed);
    if (parameters_.same_address_loads)
        while (!same_address_.serves(step.load, issued, parameters_.same_address_loads))
            issued = take_ports(what, Part::load, issued + 1, times.renamed);
    times.issued = issued;
    times.port_waited = issued - ready;
    if (what.prefetch) {
        if (step.load) memory_.prefetch(step.load, issued);
        return;
    }
    times.loaded = issued + what.load_latency;
    times.waits = SlotCause::l1;
    if (!step.load) return;
    bool whole = false;
    const RecentStore* from =
        what.what.string || what.what.gather ? nullptr : forwarding_.find(step.load, what.load_bytes, whole);
    if (from && from->committed > issued) {
        times.waits = SlotCause::forwarding;
        if (from->data_at > issued) times.forwarded_from = from->step;
        const trace::MemoryOperand& memory = what.what.memory;
        const bool same_operand =
            from->bytes == what.load_bytes && from->base == memory.base && from->displacement == memory.displacement;
        const bool renamed = parameters_.renames_memory && whole && what.renamable_load && from->plain &&
                             from->address == step.load && (parameters_.renames_memory_operands || same_operand);
        const bool never_fails = parameters_.changes.forwarding_never_fails && !whole;
        // What would be forwarded could be renamed, too.
        if (renamed || (never_fails && parameters_.renames_memory))
            times.loaded = std::max(times.renamed + issue_after_renaming, from->source_at);
        else if (whole || never_fails)
            times.loaded = std::max(times.loaded, std::max(issued, from->data_at) + parameters_.store_forward_cycles);
        else
            // It begins again when the store has left its buffer: in order, after all before it.
            times.loaded = std::max({issued, from->data_at, from->committed - commit_after_data}) +
                           parameters_.store_forward_failed_cycles;
    } else {
        const Loaded answer = memory_.load(step.load, what.what.address, issued);
        times.loaded += answer.extra;
        times.missed = answer.extra > 0;
        times.waits = answer.waits;
        if (what.load_bytes > 1 && step.load % line_bytes + what.load_bytes > line_bytes) {
            times.loaded += parameters_.split_line_cycles;
            take_ports(what, Part::load, issued, times.renamed);
        }
        if (times.missed) timeline_.lasts(During::miss, issued, times.loaded);
        if (is_aliased(what, step, issued)) {
            // It goes again once the whole addresses are compared.
            times.loaded += parameters_.aliased_load_cycles;
            if (!times.missed) times.waits = SlotCause::aliasing;
            ++facts_.loads_aliased;
        }
    }
    timeline_.lasts(During::load, issued, times.loaded);
}

/// A store whose address comes later than the load looks for it is passed, as any other.
bool Pipeline::is_aliased(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t issued) const {
    if (!parameters_.aliased_load_cycles || what.what.string || what.what.gather) return false;
    const RecentStore* store = page_places_.find(step.load, what.load_bytes);
    return store && store->committed > issued && store->address_at <= issued + what.load_latency;
}

void Pipeline::operate(const InstructionDescriptor& what, Times& times) {
    const std::uint64_t from = what.loads ? times.loaded : times.renamed + issue_after_renaming;
    const std::uint64_t ready = known(what, Part::operation, from);
    if (!what.operation_uses) {
        times.operated = ready;
        return;
    }
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
        std::max(source + together, known(what, Part::load, times.renamed + issue_after_renaming));
    times.stored = take_ports(what, Part::store, ready, times.renamed);
    if (!what.loads && !what.operation_uses) times.issued = times.stored;
}

int Pipeline::added_source(const InstructionDescriptor& what) const {
    for (const Use& use : what.uses)
        if (use.part == Part::operation) return added_[use.unit];
    return 0;
}

void Pipeline::define(const InstructionDescriptor& what, const Times& times) {
    std::uint64_t source = 0;
    for (const Definition& definition : what.definitions) {
        if (definition.as_soon_as_source) {
            if (what.moves_stack) continue;
            if (!source) source = known(what, Part::operation, times.renamed + issue_after_renaming);
            const int added = what.constant ? added_source(what) + what.constant : 0;
            const bool fits = std::abs(added) < static_cast<int>(parameters_.adds_constants_below);
            ready_[definition.unit] = !what.constant || fits ? source : times.operated + definition.latency;
            added_[definition.unit] = static_cast<std::int16_t>(fits ? added : 0);
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
    if (what.executes && what.operation_uses) done = std::max(done, times.operated + what.latency);
    if (what.stores) done = std::max(done, times.stored + 1);
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
    if (what.loads) load_buffer_.take(retired);
    if (what.writes_general) general_registers_.take(retired);
    if (what.writes_vector) vector_registers_.take(retired);
    if (!what.stores) return {done, retired};
    // Stores leave in order: one a cycle, or several to one line.
    const std::uint64_t owned = step.store ? memory_.store(step.store, what.what.address, retired) : retired;
    const std::uint64_t line = step.store / line_bytes;
    const bool together = line == committed_line_ && committed_in_cycle_ < parameters_.stores_committed;
    const std::uint64_t committed = std::max(owned, last_committed_ + (together ? 0 : 1));
    committed_in_cycle_ = committed == last_committed_ ? committed_in_cycle_ + 1 : 1;
    committed_line_ = line;
    last_committed_ = committed;
    store_buffer_.take(committed);
    stores_retire_.take(retired);
    if (!step.store || what.what.string) return {done, retired};
    const RecentStore recent{step.store,
                             times.addressed,
                             times.stored,
                             what.operation_uses ? times.operated + what.latency : times.operated,
                             committed,
                             0,
                             what.store_bytes,
                             what.renamable_store,
                             what.what.memory.base,
                             what.what.memory.displacement,
                             step_};
    forwarding_.add(recent);
    if (parameters_.aliased_load_cycles) page_places_.add(recent);
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
    if (taken) {
        ++facts_.branches_taken;
        front_end_.took_branch();
    }
    const bool wrong = branches_.mispredicts(branch, taken, next);
    const std::uint64_t resolved = std::max(times.operated, times.loaded) + std::max<std::uint64_t>(1, what.latency);
    if (what.conditional && window_.wrong_paths_load) {
        if (wrong) wrong_path_.follow(step, taken, times.renamed, resolved, ready_);
        wrong_path_.note(step, taken);
    }
    if (!wrong) return;
    ++facts_.mispredicts;
    slots_.mispredicted(step_, resolved, resolved + parameters_.recovery_cycles);
    front_end_.restart(resolved + parameters_.mispredict_penalty);
}

}  // namespace tmaprobe::model::core
