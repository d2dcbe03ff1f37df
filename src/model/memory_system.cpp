#include "model/memory_system.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/core/descriptor.h"
#include "model/page_frames.h"

namespace tmaprobe::model {
namespace {

using core::line_bytes;
constexpr std::size_t many_pages = 1 << 16;  // more than the buffers of any target hold
constexpr std::size_t many_lines = 1 << 13;  // some times as many as any first level holds

/// `unless_known`: of how many lines one makes room.
SetAssociative cache_of(const CacheGeometry& geometry, std::size_t unless_known = 1) {
    return SetAssociative(geometry.size_bytes / line_bytes, static_cast<int>(geometry.ways),
                          geometry.makes_room_among ? geometry.makes_room_among : unless_known);
}

}  // namespace

MemorySystem::MemorySystem(const ModelledCpu& geometry, PageSizes sizes_of_pages, const MemoryVariation& variation)
    : geometry_(geometry),
      page_sizes_(std::move(sizes_of_pages)),
      prefetching_(variation.prefetch),
      memory_cycles_(static_cast<std::uint64_t>(
          std::lround((variation.latency_ns > 0 ? variation.latency_ns : geometry.memory.latency_ns) * 1e-9 *
                      geometry.frequency_hz))),
      from_memory_(line_bytes * geometry.frequency_hz / geometry.memory.bandwidth_bytes_per_second),
      from_l3_(geometry.l3.line_cycles),
      into_l1_(geometry.l2.line_cycles),
      into_l1_code_(geometry.l2.line_cycles),
      second_buffers_(geometry.translation.l2_hit_every),
      l2_banks_(geometry.l2.banks, LineChannel(geometry.l2.bank_cycles)),
      l1_data_(cache_of(geometry.l1_data)),
      l1_code_(cache_of(geometry.l1_code)),
      l2_(cache_of(geometry.l2)),
      // No vendor says how a last level replaces; where nobody has timed it, any line makes room.
      l3_(cache_of(geometry.l3, SetAssociative::any)),
      met_areas_(geometry.l2.size_bytes / line_bytes),
      met_pages_(many_pages, 16),
      written_(many_lines),
      directories_(geometry.translation.upper_level_entries, -1),
      streams_(geometry.prefetchers.streams),
      regions_(geometry.prefetchers.region_lines_before, geometry.prefetchers.region_lines_after) {
    for (Serving* serving : {&serving_data_, &serving_code_})
        for (auto& level : *serving) level.fill(-1);
    for (const TlbGeometry& tlb : geometry.tlbs) {
        serve(tlbs_.size(), tlb);
        tlbs_.emplace_back(tlb.entries, tlb.ways);
        tlb_entries_.push_back(tlb.entries);
    }
}

Facts MemorySystem::facts() const {
    Facts facts;
    for (std::size_t i = 0; i < memory_fact_count; ++i) facts[memory_fact_names[i]] = static_cast<double>(facts_[i]);
    return facts;
}

void MemorySystem::begin_window() {
    arrivals_.clear();
    l1_outstanding_.clear();
    l2_outstanding_.clear();
    walks_outstanding_.clear();
    from_memory_.clear();
    from_l3_.clear();
    into_l1_.clear();
    into_l1_code_.clear();
    second_buffers_.clear();
    translating_.fill({});
    all_translated_ = 0;
    for (LineChannel& bank : l2_banks_) bank.clear();
    oldest_cycle_ = buffers_full_until_ = 0;
    timed_ = true;
    reset_facts();
}

MemorySystem::Filled MemorySystem::arrival(std::uint64_t line, std::uint64_t cycle) const {
    const auto found = arrivals_.find(line);
    if (found == arrivals_.end()) return {0, 0};
    const OnItsWay& way = found->second;
    return {cycle < way.begin ? cycle + (way.end - way.begin) : way.end, 0, way.sent_by};
}

void MemorySystem::on_its_way(std::uint64_t line, const Filled& filled, std::uint64_t cycle) {
    if (!timed_ || filled.ready_at <= cycle) return;
    constexpr std::size_t many = 2048;
    if (arrivals_.size() > many)
        std::erase_if(arrivals_, [&](const auto& entry) { return entry.second.end <= oldest_cycle_; });
    arrivals_[line] = {cycle, filled.ready_at, filled.sender()};
}

std::uint64_t MemorySystem::wait_for_slot(InFlight& outstanding, unsigned limit, std::uint64_t cycle) {
    if (!timed_) return cycle;
    outstanding.forget_before(oldest_cycle_);
    return outstanding.room_from(cycle, limit);
}

bool MemorySystem::has_slot(const InFlight& outstanding, unsigned limit, std::uint64_t cycle) const {
    return !timed_ || outstanding.at(cycle) < limit;
}

void MemorySystem::vary(const MemoryVariation& variation) {
    prefetching_ = variation.prefetch;
    unknown_ = variation.unknown;
    has_third_level_ = variation.third_level;
    if (variation.latency_ns > 0 && geometry_.l3.latency_estimated)
        geometry_.l3.latency = static_cast<unsigned>(
            std::lround(geometry_.l3.latency * variation.latency_ns / geometry_.memory.latency_ns));
    if (variation.latency_ns > 0)
        memory_cycles_ = static_cast<std::uint64_t>(std::lround(variation.latency_ns * 1e-9 * geometry_.frequency_hz));
}

void MemorySystem::idealize(const IdealMemory& ideal) {
    ideal_ = ideal;
    geometry_.memory.outstanding_l1_misses *= ideal.outstanding;
    geometry_.memory.outstanding_l2_misses *= ideal.outstanding;
    from_memory_ = LineChannel(line_bytes * geometry_.frequency_hz /
                               (geometry_.memory.bandwidth_bytes_per_second * ideal.bandwidth));
}

std::uint64_t MemorySystem::from_memory(std::uint64_t cycle) {
    ++lines_from_memory_;
    count(MemoryFact::lines_from_memory);
    if (!timed_) return cycle;
    return from_memory_.after(cycle) +
           static_cast<std::uint64_t>(std::lround(static_cast<double>(memory_cycles_) * ideal_.latency));
}

void MemorySystem::into_l1(std::uint64_t line, std::uint64_t cycle) {
    const auto evicted = l1_data_.insert(line);
    if (!evicted || written_[*evicted % written_.size()] != *evicted) return;
    written_[*evicted % written_.size()] = 0;
    if (timed_) into_l1_.take(cycle, geometry_.l2.write_back_cycles);
}

void MemorySystem::into_l2(std::uint64_t line) {
    const auto evicted = l2_.insert(in_frames(line));
    if (!evicted || !geometry_.l3.victim) return;
    if (!l3_.find(*evicted)) l3_.insert(*evicted);
}

MemorySystem::Filled MemorySystem::never_met(std::uint64_t line, std::uint64_t cycle, bool code) {
    if (resident_bytes_) count(MemoryFact::lines_unknown);
    const int level = level_of_unknown(line, code);
    if (level == 4 || (level == 3 && !has_third_level_)) return {from_memory(cycle + geometry_.l3.latency), 4};
    ++lines_from_memory_;
    return {cycle + (level == 2 ? geometry_.l2.latency : third_level_cycles(in_frames(line))), level};
}

std::uint64_t MemorySystem::third_level_cycles(std::uint64_t place) const {
    const CacheGeometry& l3 = geometry_.l3;
    if (l3.slices < 2) return l3.latency;
    // A calibrated latency may be less than the data's.
    const std::uint64_t spread = std::min(l3.slice_spread_cycles, 2 * l3.latency);
    const std::uint64_t slice = (place * golden_factor >> 32) * l3.slices >> 32;
    return l3.latency - spread / 2 + slice * spread / (l3.slices - 1);
}

MemorySystem::Filled MemorySystem::below(std::uint64_t line, std::uint64_t cycle, bool code) {
    if (ideal_.caches_from == 2) return {cycle + geometry_.l2.latency, 2};
    const std::uint64_t place = in_frames(line);
    if (l2_.find(place)) {
        const Filled coming = arrival(line, cycle);
        if (coming.ready_at > cycle) return {coming.ready_at, 2, coming.sent_by};
        const std::uint64_t sent = timed_ ? l2_bank(line).after(cycle) : cycle;
        return {sent + geometry_.l2.latency, 2};
    }
    const std::uint64_t start = wait_for_slot(l2_outstanding_, geometry_.memory.outstanding_l2_misses, cycle);
    Filled filled;
    // Before it becomes the most recent one.
    const bool is_left = has_third_level_ && left_by_others(line, place);
    const bool in_l3 = l3_.find(place);
    met_areas_.note(line);
    if (in_l3 && geometry_.l3.victim) l3_.erase(place);
    if (in_l3 && is_left) {
        filled = {std::max(arrival(line, start).ready_at, start + third_level_cycles(place)), 3};
    } else if (in_l3) {
        filled = {from_memory(start + geometry_.l3.latency), 4};
    } else {
        filled = never_met(line, start, code);
        if (!geometry_.l3.victim) l3_.insert(place);
    }
    if (ideal_.caches_from == 3 && filled.level == 4) filled = {start + third_level_cycles(place), 3};
    if (timed_ && filled.level == 3)
        filled.ready_at = std::max(filled.ready_at, from_l3_.after(start) + third_level_cycles(place));
    if (timed_) {
        // Put in; looked for in vain before, and what it displaces taken out, where these are turns of their own.
        LineChannel& bank = l2_bank(line);
        const unsigned turns = geometry_.l2.bank_fill_turns;
        if (turns > 2) bank.after(start);
        filled.ready_at = bank.after(filled.ready_at);
        if (turns > 1) bank.after(filled.ready_at);
        l2_outstanding_.add(start, filled.ready_at);
    }
    on_its_way(line, filled, cycle);
    into_l2(line);
    return filled;
}

MemorySystem::Filled MemorySystem::data(std::uint64_t line, std::uint64_t cycle, bool demand) {
    if (ideal_.caches_from == 1) return {cycle, 1};
    if (l1_data_.find(line)) {
        const Filled coming = arrival(line, cycle);
        return coming.ready_at <= cycle ? Filled{cycle, 1} : coming;
    }
    const std::uint64_t start = wait_for_slot(l1_outstanding_, geometry_.memory.outstanding_l1_misses, cycle);
    if (demand && start > cycle) {
        count(MemoryFact::fill_buffers_full_periods);
        const std::uint64_t from = std::clamp(buffers_full_until_, cycle, start);
        count(MemoryFact::fill_buffers_full_cycles, start - from);
        buffers_full_until_ = std::max(buffers_full_until_, start);
    }
    Filled filled = below(line, start);
    if (timed_) filled.ready_at = into_l1_.after(filled.ready_at);
    if (timed_) l1_outstanding_.add(start, filled.ready_at);
    on_its_way(line, filled, cycle);
    into_l1(line, filled.ready_at);
    // Sources follow the sum: second level, third level, memory.
    const std::size_t source = static_cast<std::size_t>(filled.level) - 1;
    for (const MemoryFact fills : {MemoryFact::l1d_fills, MemoryFact::l1d_demand_fills}) {
        if (!demand && fills == MemoryFact::l1d_demand_fills) continue;
        count(fills);
        count(further(fills, source));
    }
    count(filled.level == 2 ? MemoryFact::l2_hits : MemoryFact::l2_misses);
    if (filled.level > 2) count(filled.level == 3 ? MemoryFact::l3_hits : MemoryFact::l3_misses);
    return filled;
}

core::Loaded MemorySystem::load(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) {
    const std::uint64_t line = address / line_bytes;
    const std::uint64_t place = in_frames(line);
    l2_.prepare(place);
    l3_.prepare(place);
    const auto [translation, translated] = translate(address, cycle, false, false);
    const std::uint64_t start = cycle + translation;
    const Filled filled = data(line, start, true);
    train(line, start, filled.level);
    ask_around(line, instruction, start, filled.level);
    switch (filled.level) {
        case 0:
            count(MemoryFact::loads_in_flight_hit);
            break;
        case 1:
            count(MemoryFact::loads_l1_hit);
            break;
        case 2:
            count(MemoryFact::loads_l2_hit);
            break;
        case 3:
            count(MemoryFact::loads_l3_hit);
            break;
        default:
            count(MemoryFact::loads_l3_miss);
            break;
    }
    if (filled.level > 1) count(MemoryFact::loads_l1_miss);
    if (filled.level > 2) count(MemoryFact::loads_l2_miss);
    const std::uint64_t waited = filled.ready_at - cycle;
    if (filled.level == 1)
        return {translation, translation ? core::SlotCause::translation : core::SlotCause::l1, 1, translation,
                translated};
    // Latencies are load to use, and the pipeline counts the first level's itself.
    const auto extra =
        static_cast<unsigned>(waited > geometry_.l1_data.latency ? waited - geometry_.l1_data.latency : 0);
    constexpr core::SlotCause by_level[] = {core::SlotCause::line_on_its_way, core::SlotCause::l1, core::SlotCause::l2,
                                            core::SlotCause::l3, core::SlotCause::dram};
    return {extra,
            2 * translation > extra ? core::SlotCause::translation : by_level[std::clamp(filled.level, 0, 4)],
            filled.sender(),
            translation,
            translated,
            filled.level > 1};
}

std::uint64_t MemorySystem::store(std::uint64_t address, std::uint64_t instruction, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, true, false).cycles;
    const std::uint64_t line = address / line_bytes;
    const std::uint64_t start = cycle + translation;
    const Filled filled = data(line, start, true);
    written(line);
    train(line, start, filled.level);
    ask_around(line, instruction, start, filled.level);
    return std::max(filled.ready_at, start);
}

void MemorySystem::prefetch(std::uint64_t address, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, false, false).cycles;
    data(address / line_bytes, cycle + translation, false);
}

void MemorySystem::bring(std::uint64_t address) {
    const bool timed = std::exchange(timed_, false);
    load(address, 0, 0);
    timed_ = timed;
    arrivals_.erase(address / line_bytes);
}

unsigned MemorySystem::load_in_vain(std::uint64_t address, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, false, false).cycles;
    const std::uint64_t line = address / line_bytes, start = cycle + translation;
    const Filled filled = data(line, start, false);
    train(line, start, filled.level);
    const std::uint64_t waited = std::max(filled.ready_at, start) - cycle;
    if (filled.level == 1) return translation;
    return static_cast<unsigned>(waited > geometry_.l1_data.latency ? waited - geometry_.l1_data.latency : 0);
}

unsigned MemorySystem::load_rest(std::uint64_t address, bool first_waits, std::uint64_t cycle) {
    const unsigned extra = load_in_vain(address, cycle);
    if (timed_ && (extra || first_waits)) into_l1_.take(cycle, geometry_.l2.split_load_cycles);
    return extra;
}

unsigned MemorySystem::fetch(std::uint64_t address, std::uint64_t cycle) {
    const unsigned translation = translate(address, cycle, false, true).cycles;
    const std::uint64_t line = address / line_bytes;
    if (l1_code_.find(line)) return translation;
    l1_code_.insert(line);
    Filled filled = below(line, cycle + translation, true);
    if (timed_) filled.ready_at = into_l1_code_.after(filled.ready_at);
    count(filled.level == 2 ? MemoryFact::l2_code_hits : MemoryFact::l2_code_misses);
    return static_cast<unsigned>(filled.ready_at - cycle);
}

void MemorySystem::warm(const trace::StaticInstruction& instruction, const trace::Step& step) {
    timed_ = false;
    ++steps_;
    if (const std::uint64_t line = instruction.address / line_bytes; line != last_code_line_) {
        last_code_line_ = line;
        fetch(instruction.address, 0);
    }
    if (step.load && !instruction.prefetch) load(step.load, instruction.address, 0);
    if (step.load && instruction.prefetch) prefetch(step.load, 0);
    if (step.store) store(step.store, instruction.address, 0);
}

}  // namespace tmaprobe::model
