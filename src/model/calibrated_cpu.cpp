#include "model/calibrated_cpu.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::model {
namespace {

template <class Geometry>
auto data_cache(Geometry& cpu, int level) -> decltype(cpu.caches.data()) {
    for (auto& cache : cpu.caches)
        if (cache.level == level && cache.kind != events::Holds::instruction) return &cache;
    return nullptr;
}

/// The figure of the geometry that a fact replaces; nullptr: it replaces none.
unsigned* cycles_figure(const std::string& fact, events::CpuGeometry& cpu) {
    for (const auto& [name, level] : {std::pair{"load.l1", 1}, {"load.l2", 2}, {"load.l3", 3}})
        if (fact == name) {
            events::CacheGeometry* const cache = data_cache(cpu, level);
            return cache ? &cache->latency : nullptr;
        }
    if (fact == "translation.l2_hit") return &cpu.translation.l2_hit_cycles;
    // Where loads of what was just stored take no time, the loop tells that and not what a forwarded load takes.
    if (fact == "store.forward" && cpu.core && !cpu.core->renames_memory) return &cpu.core->store_forward_cycles;
    if (fact == "store.forward_failed" && cpu.core) return &cpu.core->store_forward_failed_cycles;
    return nullptr;
}

/// The cache whose lines a fact tells the rate of; nullptr: it is another fact.
events::CacheGeometry* sender(const std::string& fact, events::CpuGeometry& cpu) {
    for (const auto& [name, level] : {std::pair{"lines.l2", 2}, {"lines.l3", 3}})
        if (fact == name) return data_cache(cpu, level);
    return nullptr;
}

/// What the last two levels hold together, in bytes.
std::uint64_t held_together(events::CpuGeometry& cpu) {
    const events::CacheGeometry* const l2 = data_cache(cpu, 2);
    const events::CacheGeometry* const l3 = data_cache(cpu, 3);
    if (!l2 || !l3) return 0;
    return l3->victim ? l2->size_bytes + l3->size_bytes : l3->size_bytes;
}

/// What a page walk takes whose last entry the second level has, beyond the load: as the loop of the fact has it.
unsigned walk_but_its_step(events::CpuGeometry& cpu) {
    const events::CacheGeometry* const l2 = data_cache(cpu, 2);
    return cpu.translation.l2_hit_cycles + (l2 ? l2->latency : 0);
}

/// What a walk keeps a walker busy for, as in the same loop.
unsigned walk_of_walker(events::CpuGeometry& cpu) {
    return walk_but_its_step(cpu) - cpu.translation.l2_hit_cycles + cpu.translation.walk_step_cycles;
}

/// As many walkers as are busy all the time where walks stand side by side. Eight chains do not show more than they
/// are, so that no more are taken than the tables have.
bool put_walkers(double cycles_a_walk, events::CpuGeometry& cpu) {
    const auto busy = static_cast<unsigned>(std::lround(walk_of_walker(cpu) / cycles_a_walk));
    if (busy == 0 || busy >= cpu.translation.walkers) return false;
    cpu.translation.walkers = busy;
    return true;
}

/// False, and all as it was: they have no more, or hardly more than the second has.
bool hold_together(std::uint64_t found, events::CpuGeometry& cpu) {
    const std::uint64_t whole = held_together(cpu);
    const std::uint64_t l2 = whole ? data_cache(cpu, 2)->size_bytes : 0;
    if (found >= whole || found < 2 * l2) return false;
    events::CacheGeometry* const l3 = data_cache(cpu, 3);
    l3->size_bytes = l3->victim ? found - l2 : found;
    return true;
}

bool put(const record::CalibratedFact& found, const events::CalibrationFact& known, events::CpuGeometry& cpu) {
    const auto cycles = static_cast<unsigned>(std::lround(found.value));
    if (unsigned* const figure = cycles_figure(found.name, cpu)) {
        *figure = cycles;
        return true;
    }
    if (events::CacheGeometry* const cache = sender(found.name, cpu)) {
        cache->line_cycles = found.value;
        return true;
    }
    if (found.name == "translation.walk") {
        if (cycles <= walk_but_its_step(cpu)) return false;
        cpu.translation.walk_step_cycles = cycles - walk_but_its_step(cpu);
        return true;
    }
    if (found.name == "translation.walk_beside") return put_walkers(found.value, cpu);
    if (found.name == "translation.large_page_walk") {
        cpu.translation.large_page_walk = found.value;
        return true;
    }
    if (found.name == "memory.latency") {
        cpu.memory.latency_ns = found.value;
        cpu.memory.latency_low_ns = found.low;
        cpu.memory.latency_high_ns = found.high;
        return true;
    }
    if (found.name == "memory.bandwidth") {
        cpu.memory.bandwidth_bytes_per_second = found.value;
        return true;
    }
    if (known.instructions.empty()) return false;
    events::Correction correction;
    correction.instructions = known.instructions;
    correction.latency = cycles;
    correction.latency_of_chain = true;
    cpu.corrections.push_back(std::move(correction));
    return true;
}

}  // namespace

std::optional<double> table_figure(const std::string& fact, const events::CpuGeometry& cpu) {
    if (fact == "memory.latency") return cpu.memory.latency_ns;
    if (fact == "memory.bandwidth") return cpu.memory.bandwidth_bytes_per_second;
    if (fact == "reorder_buffer" && cpu.core && cpu.core->reorder_buffer > 0) return cpu.core->reorder_buffer;
    events::CpuGeometry copy = cpu;
    if (const events::CacheGeometry* const cache = sender(fact, copy))
        return cache->line_cycles > 0 ? std::optional(cache->line_cycles) : std::nullopt;
    if (fact == "translation.walk") return walk_but_its_step(copy) + copy.translation.walk_step_cycles;
    if (fact == "translation.walk_beside") return static_cast<double>(walk_of_walker(copy)) / copy.translation.walkers;
    if (fact == "size.l3" && held_together(copy) > 0) return static_cast<double>(held_together(copy));
    const unsigned* const cycles = cycles_figure(fact, copy);
    return cycles && *cycles > 0 ? std::optional<double>(*cycles) : std::nullopt;
}

std::vector<std::string> calibrate(const record::Calibration& found, const std::vector<events::CalibrationFact>& known,
                                   events::CpuGeometry& cpu) {
    std::vector<std::string> used;
    cpu.frequency_hz = found.clock_hz;
    for (const record::CalibratedFact& fact : found.facts) {
        const events::CalibrationFact* const about = events::find_fact(known, fact.name);
        if (about && fact.reason.empty() && put(fact, *about, cpu)) used.push_back(fact.name);
    }
    if (take_third_level(third_level_found(found.facts), cpu)) {
        const bool is_filled = data_cache(cpu, 3)->others_fill_ns > 0;
        used.emplace_back(is_filled ? "given.l3" : "size.l3");
        if (is_filled) used.emplace_back("others.l3");
    }
    return used;
}

ThirdLevelFound third_level_found(const std::vector<record::CalibratedFact>& facts) {
    const auto value = [&](const char* name) {
        const record::CalibratedFact* const fact = record::usable_fact(facts, name);
        return fact ? fact->value : 0;
    };
    return {static_cast<std::uint64_t>(value("size.l3")), static_cast<std::uint64_t>(value("given.l3")),
            value("others.l3") * 1e6};
}

std::optional<std::uint64_t> take_third_level(const ThirdLevelFound& found, events::CpuGeometry& cpu) {
    events::CacheGeometry* const l3 = data_cache(cpu, 3);
    if (!l3 || l3->makes_room_among != 1 || found.others_fill_ns <= 0)
        return hold_together(found.held_bytes, cpu) ? std::optional(found.held_bytes) : std::nullopt;
    l3->others_fill_ns = found.others_fill_ns;
    hold_together(found.given_bytes, cpu);
    return held_together(cpu);
}

void walk_two_tables(events::CpuGeometry& cpu) {
    events::TranslationGeometry& translation = cpu.translation;
    if (translation.nested_walk_step_cycles) translation.walk_step_cycles = translation.nested_walk_step_cycles;
    if (translation.nested_walkers) translation.walkers = translation.nested_walkers;
}

double large_page_walk(const ThisMachine& machine) {
    if (!machine.calibration) return machine.large_page_walk;
    const auto* const found = record::usable_fact(machine.calibration->facts, "translation.large_page_walk");
    return found ? found->value : 0;
}

double part_of_third_level(const ThisMachine& machine, const events::CpuGeometry& cpu) {
    const events::CacheGeometry* const l1 = data_cache(cpu, 1);
    const events::CacheGeometry* const l3 = data_cache(cpu, 3);
    if (machine.virtual_cpus <= 0 || !l1 || !l3) return 1;
    const double of_a_cpu = machine.are_siblings ? 1 : l1->shared_by;
    return std::min(1.0, of_a_cpu * machine.virtual_cpus / l3->shared_by);
}

bool share_third_level(double part, events::CpuGeometry& cpu) {
    const events::CacheGeometry* const l3 = data_cache(cpu, 3);
    if (!l3) return false;
    const double l2 = l3->victim ? static_cast<double>(data_cache(cpu, 2)->size_bytes) : 0;
    return hold_together(static_cast<std::uint64_t>(l2 + part * static_cast<double>(l3->size_bytes)), cpu);
}

}  // namespace tmaprobe::model
