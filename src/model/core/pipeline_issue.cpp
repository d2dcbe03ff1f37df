#include <algorithm>

#include "model/core/pipeline.h"

// When operations are issued, to which port, and what is issued in vain.

namespace tmaprobe::model::core {

Operands Pipeline::operands(const InstructionDescriptor& what) const {
    if (at_hand_) return {};
    return operands_of(what, [&](const Use& use) {
        const bool alike = what.alike && alike_[use.unit] == what.alike;
        return ready_[use.unit] - (alike ? what.sooner_among_alike : 0);
    });
}

/// A micro-op waits in one scheduler, and goes to a port of that one: which, is chosen before anybody knows when its
/// operands come.
bool Pipeline::bound_to_scheduler(const PortUse& use) const {
    return (parameters_.binds_ports_at_renaming || !is_one_bit(use.pools)) && !is_one_bit(use.ports);
}

/// An operation for schedulers that take one a cycle each.
bool Pipeline::takes_turn(const PortUse& use) const {
    return use.part == Part::operation && (use.ports & taking_one_) != 0;
}

std::uint64_t Pipeline::take_ports(const InstructionDescriptor& what, Part part, std::uint64_t ready,
                                   std::uint64_t renamed) {
    std::uint64_t issued = ready;
    unsigned micro_ops = 0;
    for (const PortUse& use : what.ports_of(part)) {
        std::uint64_t first = 0;
        std::uint64_t ports = use.ports;
        if (takes_turn(use))
            if (const std::uint64_t open = ports_.open(ports, renamed)) ports = open;
        const bool is_bound = bound_to_scheduler(use);
        const bool by_slot = is_bound && part == Part::operation && ports_.chooses_among(ports);
        if (is_bound && !by_slot) ports = ports_.bound(ports);
        if (takes_turn(use)) ports_.close(ports, renamed);
        for (unsigned cycle = 0; cycle < use.cycles; ++cycle) {
            // What takes several cycles of any of them is as many micro-ops where each slot chooses.
            const std::uint64_t bound =
                by_slot ? ports_.bound_in_slot(ports, slots_.last_from() + micro_ops + cycle) : ports;
            if (cycle == 0 && part == Part::operation && !hopes_.empty()) try_in_vain(bound);
            const std::uint64_t taken = ports_.take(bound, cycle ? first : ready);
            if (cycle == 0) first = taken;
        }
        if (window_.execution) window_.execution->ports.push_back({step_, use.cycles, use.ports});
        if (use.is_unit) {
            ready = first;
            continue;
        }
        if (use.pools) roomy_one(use.pools, renamed).take(first + 1 + parameters_.scheduler_release_cycles);
        issued = std::max(issued, first);
        ++micro_ops;
    }
    if (micro_ops)
        timeline_.issued(
            issued, part == Part::operation ? std::max<unsigned>(1, std::min<unsigned>(micro_ops, what.slots)) : 1);
    return issued;
}

/// A load whose translation is not in the first level is taken for one that hits.
void Pipeline::hope_for(const InstructionDescriptor& what, std::uint64_t issued) {
    const std::uint64_t from = issued + what.load_latency;
    hoped_ = {from, from + parameters_.in_vain_cycles - 1};
}

/// When the operands of its operation seem to be there, none before `earliest`.
void Pipeline::hope_for_operands(const InstructionDescriptor& what, std::uint64_t earliest) {
    const bool of_its_load = hoped_.from != 0;
    if (!of_its_load && hoped_until_ < earliest) return;
    Hope operands{std::max(earliest, hoped_.from), of_its_load ? hoped_.until : ~std::uint64_t{0}};
    bool any = of_its_load;
    for (const Use& use : what.uses) {
        if (use.part != Part::operation) continue;
        // One that is over by then has come, or is known to be late.
        const Hope& operand = hopes_[use.unit];
        const bool hoped = operand.from && operand.until >= earliest;
        if (hoped) operands.until = std::min(operands.until, operand.until);
        operands.from = std::max(operands.from, use.usable_from(hoped ? operand.from : ready_[use.unit]));
        any |= hoped;
    }
    hoped_ = any && operands.from <= operands.until ? operands : Hope{};
}

/// Of one micro-op. Where a port comes free only after it is known to be in vain, it is not issued.
void Pipeline::try_in_vain(std::uint64_t ports) {
    if (!hoped_.from) return;
    hoped_.from = ports_.take(ports, hoped_.from, hoped_.until);
    if (hoped_.from > hoped_.until) hoped_ = {};
}

/// Who waits for what it writes hopes, too, as long as nobody knows better.
void Pipeline::hand_on_hope(const InstructionDescriptor& what, std::uint64_t renamed) {
    // What is kept of hopes that are over is not looked at any more.
    if (!hoped_.from && hoped_until_ <= renamed) return;
    for (const Definition& definition : what.definitions) {
        Hope& result = hopes_[definition.unit];
        if (definition.as_soon_as_source) {
            if (const Unit from = what.source(); from != no_unit && !what.moves_stack) result = hopes_[from];
            continue;
        }
        const std::uint64_t there = hoped_.from + definition.latency;
        const bool goes_on =
            definition.part == Part::operation && what.executes && hoped_.from && there <= hoped_.until;
        result = goes_on ? Hope{there, hoped_.until} : Hope{};
        hoped_until_ = std::max(hoped_until_, result.until);
    }
}

}  // namespace tmaprobe::model::core
