#include "model/calibrated_cpu.h"

#include <cmath>

namespace tmaprobe::model {
namespace {

events::CacheGeometry* data_cache(events::CpuGeometry& cpu, int level) {
    for (events::CacheGeometry& cache : cpu.caches)
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

bool put(const record::CalibratedFact& found, const events::CalibrationFact& known, events::CpuGeometry& cpu) {
    const auto cycles = static_cast<unsigned>(std::lround(found.value));
    if (unsigned* const figure = cycles_figure(found.name, cpu)) {
        *figure = cycles;
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
    cpu.corrections.push_back(std::move(correction));
    return true;
}

}  // namespace

std::optional<double> table_figure(const std::string& fact, const events::CpuGeometry& cpu) {
    if (fact == "memory.latency") return cpu.memory.latency_ns;
    if (fact == "memory.bandwidth") return cpu.memory.bandwidth_bytes_per_second;
    if (fact == "reorder_buffer" && cpu.core && cpu.core->reorder_buffer > 0) return cpu.core->reorder_buffer;
    events::CpuGeometry copy = cpu;
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
    return used;
}

}  // namespace tmaprobe::model
