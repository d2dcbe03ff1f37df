#include "model/modelled_cpu.h"

#include <regex>

#include "model/calibrated_cpu.h"

namespace tmaprobe::model {
namespace {

bool is_regular_expression(const std::string& text) {
    try {
        const std::regex parsed(text);
        return true;
    } catch (const std::regex_error&) {
        return false;
    }
}

void take_cache(const CacheGeometry& cache, ModelledCpu& out) {
    if (cache.level == 1 && cache.kind == events::Holds::data) out.l1_data = cache;
    if (cache.level == 1 && cache.kind == events::Holds::instruction) out.l1_code = cache;
    if (cache.level == 2) out.l2 = cache;
    if (cache.level == 3) out.l3 = cache;
}

core::CoreParameters core_of(const events::CpuGeometry& cpu, const std::string& cpu_id) {
    core::CoreParameters core{*cpu.core, {}, 0, cpu.corrections, {}};
    const auto name = core.llvm_cpu_by_id.find(cpu_id);
    if (name != core.llvm_cpu_by_id.end()) core.llvm_cpu = name->second;
    const auto width = core.slot_width_by_id.find(cpu_id);
    if (width != core.slot_width_by_id.end()) core.slot_width = width->second;
    return core;
}

}  // namespace

Result<ModelledCpu> modelled_cpu(const events::CpuGeometry& cpu, const std::string& file, const std::string& cpu_id) {
    if (!cpu.core) return fail(ErrorCode::unavailable, file + " describes no core");
    ModelledCpu out;
    for (const CacheGeometry& cache : cpu.caches) {
        if (cache.ways == 0) return fail(ErrorCode::bad_input, file + ": a cache has no ways");
        take_cache(cache, out);
    }
    if (!out.l1_data.size_bytes || !out.l2.size_bytes)
        return fail(ErrorCode::bad_input, file + ": no first- or second-level cache");
    for (const events::Correction& correction : cpu.corrections)
        if (!is_regular_expression(correction.instructions))
            return fail(ErrorCode::bad_input, file + ": '" + correction.instructions + "' is no regular expression");
    for (const TlbGeometry& tlb : cpu.tlbs)
        if (tlb.ways == 0 || tlb.entries == 0)
            return fail(ErrorCode::bad_input, file + ": a TLB has no entries or no ways");
    out.core = core_of(cpu, cpu_id);
    out.core.load_cycles = out.l1_data.latency;
    out.tlbs = cpu.tlbs;
    out.translation = cpu.translation;
    out.prefetchers = cpu.prefetchers;
    out.memory = cpu.memory;
    out.known_wrong = cpu.known_wrong;
    out.frequency_hz = cpu.frequency_hz;
    return out;
}

Result<ModelledCpu> load_modelled_cpu(const events::Library& library, const events::Table& table,
                                      const ThisMachine& machine) {
    auto cpu = events::read_cpu_geometry(library, table.folder);
    if (!cpu && cpu.error().code != ErrorCode::unavailable) return pass_on(cpu);
    if (!cpu) return fail(ErrorCode::unavailable, "the model does not cover " + table.folder, cpu.error().hint);
    const double own_l3 = part_of_third_level(machine, *cpu);
    double l3_share = 1;
    std::optional<std::uint64_t> held;
    if (machine.virtual_cpus > 0) walk_two_tables(*cpu);
    cpu->translation.large_page_walk = machine.large_page_walk;
    if (machine.calibration) {
        calibrate(*machine.calibration, TRY(events::read_calibration_facts(library)), *cpu);
    } else {
        held = take_third_level(machine.third_level, *cpu);
        if (!held && share_third_level(own_l3, *cpu)) l3_share = own_l3;
    }
    auto modelled = TRY(modelled_cpu(*cpu, table.folder + "/geometry.json", table.cpu_id));
    modelled.core_error = TRY(events::read_core_error(library, table.folder));
    modelled.l3_share = l3_share;
    modelled.held_by_caches = held.value_or(0);
    modelled.l3_is_others = own_l3 < 1;
    return modelled;
}

}  // namespace tmaprobe::model
