#include <algorithm>

#include "model/core/pipeline.h"

// Loads, what they get from stores, and how stores leave.

namespace tmaprobe::model::core {
namespace {

constexpr unsigned commit_after_data = 2;  ///< of a store that nothing holds up

}  // namespace

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
    const bool any_buffered = page_places_.any_buffered(step.load, what.load_bytes, issued);
    const RecentStore* from = what.what.string || what.what.gather || at_hand_ || !any_buffered
                                  ? nullptr
                                  : forwarding_.find(step.load, what.load_bytes, whole);
    if (from && from->committed > issued) {
        times.waits = SlotCause::forwarding;
        if (from->data_at > issued) times.forwarded_from = from->step;
        const bool renamable =
            parameters_.renames_memory && whole && what.renamable_load && from->plain && from->address == step.load;
        const bool foretold = renamable && foretold_.foretells(what.what.address, forwarding_.stores_since(*from));
        const bool renamed = foretold || (renamable && paths_.is_known() && is_named_alike(*from, what));
        const bool never_fails = parameters_.changes.forwarding_never_fails && !whole;
        // What would be forwarded could be renamed, too.
        if (renamed || (never_fails && parameters_.renames_memory))
            times.loaded = std::max(times.renamed + issue_after_renaming, from->source_at);
        else if (whole || never_fails)
            times.loaded = std::max(times.loaded, from->data_at + forward_cycles(what, *from));
        else
            times.loaded = std::max(times.loaded + parameters_.failed_again_cycles, when_failed(what, *from));
    } else {
        const Loaded answer = memory_.load(step.load, what.what.address, issued);
        times.loaded += answer.extra;
        times.missed = answer.extra > 0;
        times.waits = answer.waits;
        if (answer.translation && !hopes_.empty()) hope_for(what, issued);
        if (parameters_.issues_missed_loads_again) issue_again(what, answer, times);
        if (what.load_bytes > 1 && step.load % line_bytes + what.load_bytes > line_bytes) {
            // The other line is another access, of the port and of the cache.
            take_ports(what, Part::load, issued, times.renamed);
            const std::uint64_t other = (step.load / line_bytes + 1) * line_bytes,
                                there = issued + what.load_latency + memory_.load_rest(other, times.missed, issued);
            times.missed |= there > issued + what.load_latency;
            if (there > times.loaded) times.waits = SlotCause::line_on_its_way;
            times.loaded = std::max(times.loaded, there) + parameters_.split_line_cycles;
        }
        if (!loads_.empty()) {
            Loads& so_far = loads_[step.instruction];
            ++so_far.all;
            so_far.missed += times.missed;
        }
        if (times.missed) {
            timeline_.lasts(During::miss, issued, times.loaded);
            if (answer.sent_by > 2) timeline_.lasts(During::l2_miss, issued, times.loaded);
            if (answer.sent_by > 3) timeline_.lasts(During::l3_miss, issued, times.loaded);
        }
        if (any_buffered && is_aliased(what, step, issued)) {
            // It goes again once the whole addresses are compared.
            times.loaded += parameters_.aliased_load_cycles;
            if (!times.missed) times.waits = SlotCause::aliasing;
            ++facts_.loads_aliased;
        }
    }
    if (window_.observer) window_.observer->loaded(step_, times.loaded - issued, times.missed);
    timeline_.lasts(During::load, issued, times.loaded);
}

/// Once for the translation and once for the line that it waited for, and what it asked for takes as long to be put in
/// its place: later than it comes where the ports are taken.
void Pipeline::issue_again(const InstructionDescriptor& what, const Loaded& answer, Times& times) {
    const auto again = [&](unsigned waited, bool asked) {
        if (asked) issue_port(what, times.issued + waited);
        const std::uint64_t there = issue_port(what, times.issued + waited) + what.load_latency;
        times.loaded = std::max(times.loaded, there);
    };
    if (answer.translation) again(answer.translation, answer.asks_for_translation);
    if (answer.sent_by > 1) again(answer.extra, answer.asks_for_line && parameters_.lines_take_load_ports);
}

/// A port of a load that is not its first access.
std::uint64_t Pipeline::issue_port(const InstructionDescriptor& what, std::uint64_t ready) {
    for (const PortUse& use : what.ports_of(Part::load)) ready = ports_.take(use.ports, ready);
    return ready;
}

/// As far as the core asks for that.
bool Pipeline::is_named_alike(const RecentStore& store, const InstructionDescriptor& load) const {
    if (parameters_.renames_memory_by_registers) {
        const NamedPlace named = places_.named_by(load);
        return named.is_known() && named == store.named &&
               (named.is_of_stack() || !parameters_.renames_only_stack_memory);
    }
    if (parameters_.renames_memory_operands) return true;
    const trace::MemoryOperand& memory = load.what.memory;
    return store.bytes == load.load_bytes && store.base == memory.base && store.displacement == memory.displacement;
}

unsigned Pipeline::forward_cycles(const InstructionDescriptor& load, const RecentStore& from) const {
    if (!load.writes_vector || !parameters_.vector_forward_cycles) return parameters_.store_forward_cycles;
    if (from.plain && parameters_.general_to_vector_forward_cycles) return parameters_.general_to_vector_forward_cycles;
    return parameters_.vector_forward_cycles;
}

/// The load begins again when the store has left its buffer: in order, after all before it.
std::uint64_t Pipeline::when_failed(const InstructionDescriptor& load, const RecentStore& from) const {
    const std::uint64_t begins_to_leave = from.committed - commit_after_data - parameters_.store_leaves_after_cycles;
    const unsigned vector = load.writes_vector ? parameters_.vector_failed_cycles : 0;
    return std::max(from.data_at, begins_to_leave) + parameters_.store_forward_failed_cycles + vector +
           (from.in_part ? parameters_.part_stores.failed_cycles : 0);
}

/// A store whose address comes later than the load looks for it is passed, as any other.
bool Pipeline::is_aliased(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t issued) const {
    if (!parameters_.aliased_load_cycles || what.what.string || what.what.gather) return false;
    const PagePlaces::Store* store = page_places_.find(step.load, what.load_bytes);
    return store && store->committed > issued && store->address_at <= issued + what.load_latency;
}

/// Once it has retired and its lines are owned.
StoreCommit::Left Pipeline::commit(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t retired) {
    std::uint64_t owned = step.store && !never_waits_ ? memory_.store(step.store, what.what.address, retired) : retired;
    const unsigned bytes = what.what.string ? 1 : std::max<unsigned>(1, what.store_bytes);
    const std::uint64_t last = step.store + bytes - 1;
    if (step.store && !never_waits_ && last / line_bytes != step.store / line_bytes)
        owned = std::max(owned, memory_.store(last, what.what.address, retired));
    return leaving_.leaves(step.store, bytes, owned);
}

Pipeline::Times Pipeline::at_once(const InstructionDescriptor& what, const trace::Step& step, std::uint64_t renamed) {
    if (what.loads && step.load) memory_.bring(step.load);
    if (what.stores && step.store) memory_.bring(step.store);
    return Times(renamed);
}

/// What each step's instruction will load so many of its executions later.
void Pipeline::look_ahead() {
    const std::size_t distance = parameters_.changes.prefetch_distance;
    loads_.resize(trace_.instructions.size());
    ahead_.resize(trace_.steps.size(), 0);
    std::vector<std::vector<std::uint64_t>> later(trace_.instructions.size());
    for (std::size_t number = trace_.steps.size(); number-- > 0;) {
        const trace::Step& step = trace_.steps[number];
        if (!step.load) continue;
        auto& addresses = later[step.instruction];
        if (addresses.size() >= distance) ahead_[number] = addresses[addresses.size() - distance];
        addresses.push_back(step.load);
    }
}

/// A programmer prefetches for a load that is known to miss often, and then always.
bool Pipeline::prefetches(const InstructionDescriptor& what, const trace::Step& step) const {
    constexpr unsigned one_in = 32, least = 16;
    if (ahead_.empty() || !ahead_[step_] || !what.loads || what.what.string || what.what.gather) return false;
    const Loads& so_far = loads_[step.instruction];
    return so_far.prefetched || (so_far.all >= least && so_far.missed * one_in >= so_far.all);
}

/// A prefetch instruction of its own, beside the load: a slot, which it has, and a port.
void Pipeline::prefetch_ahead(const InstructionDescriptor& what, const trace::Step& step, const Times& times) {
    loads_[step.instruction].prefetched = true;
    memory_.prefetch(ahead_[step_], issue_port(what, times.renamed + issue_after_renaming));
}

}  // namespace tmaprobe::model::core
