#pragma once

#include <cstdint>
#include <string>

#include "machine/host.h"
#include "machine/perf_access.h"

namespace tmaprobe::machine {

/// What one attempt to count instructions over a short loop gave.
struct PmuProbe {
    int error_number = 0;     ///< of perf_event_open; 0: it opened
    std::uint64_t value = 0;  ///< instructions
    std::uint64_t running_ns = 0;
};

/// Opens a hardware instruction counter on this thread (user level only), runs a loop of known length,
/// reads it and closes it.
PmuProbe probe_instructions();

/// What the probe means, given what this machine allows: the causes are those of perf_access.h.
PmuPresence explain_pmu(const PmuProbe& probe, const PerfAccess& access);

}  // namespace tmaprobe::machine
