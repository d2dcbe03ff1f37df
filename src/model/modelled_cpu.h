#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/core_error.h"
#include "events/cpu_geometry.h"
#include "events/table.h"
#include "model/core/simulate.h"
#include "model/this_machine.h"

namespace tmaprobe::model {

using events::CacheGeometry, events::TlbGeometry, events::TranslationGeometry, events::PrefetcherGeometry,
    events::MemoryGeometry, events::KnownWrong;

/// All that the model knows of one CPU, from events/<folder>/geometry.json.
struct ModelledCpu {
    core::CoreParameters core;
    CacheGeometry l1_data, l1_code, l2, l3;
    std::vector<TlbGeometry> tlbs;
    TranslationGeometry translation;
    PrefetcherGeometry prefetchers;
    MemoryGeometry memory;
    std::vector<KnownWrong> known_wrong;
    events::CoreError core_error;
    double frequency_hz = 3e9;         ///< turns nanoseconds into cycles
    double l3_share = 1;               ///< of the tables' third level, where others are taken to have the rest
    std::uint64_t held_by_caches = 0;  ///< by second and third level, as was measured beside the tables; 0: it was not
    bool l3_is_others = false;         ///< other virtual machines may have it all, at any time
};

/// What the tables say of a CPU, and in its place what was found of this very one, if anything was.
/// Errors: unavailable when the folder has no geometry or no core in it; bad_input for a malformed file, and for one
/// that lacks what the model needs: caches of two levels, and the ways of all caches and TLBs.
Result<ModelledCpu> load_modelled_cpu(const events::Library& library, const events::Table& table,
                                      const ThisMachine& machine = {});

/// The same from what a file says; `file` stands in messages, `cpu_id` chooses among cores that share a folder.
Result<ModelledCpu> modelled_cpu(const events::CpuGeometry& cpu, const std::string& file, const std::string& cpu_id);

}  // namespace tmaprobe::model
