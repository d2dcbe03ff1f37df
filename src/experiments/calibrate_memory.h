#pragma once

#include "base/result.h"
#include "events/cpu_geometry.h"
#include "experiments/clock_readings.h"
#include "machine/host.h"

namespace tmaprobe::experiments {

/// Adds what the clock tells of translation, of the caches, of how much of the last one this machine gets, and of
/// memory. `tables`: null, or what they have of this CPU: where the machine does not tell (CPUID's leaf 18h is often
/// left out of virtual machines), how many translations its buffers hold. Errors: interrupted; those of timing.
Result<> calibrate_memory(ClockReader& reader, const machine::Host& host, const events::CpuGeometry* tables,
                          const OnProgress& on_progress);

/// Translations of pages of 4 KiB that the TLB of loads holds at a level: as the machine tells, else as the tables
/// have it, else 64 and 1024.
double small_pages_held(int level, const machine::Host& host, const events::CpuGeometry* tables);

}  // namespace tmaprobe::experiments
