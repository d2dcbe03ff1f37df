#pragma once

#include "base/result.h"
#include "experiments/clock_readings.h"
#include "machine/host.h"

namespace tmaprobe::experiments {

/// Adds what the clock tells of translation, of the caches, of how much of the last one this machine gets, and of
/// memory. `host`: complete (events::complete_geometry()), since CPUID's leaf 18h, which tells how many translations
/// the TLBs hold, is often left out of virtual machines. Errors: interrupted; those of timing.
Result<> calibrate_memory(ClockReader& reader, const machine::Host& host, const OnProgress& on_progress);

/// Translations of pages of 4 KiB that the TLB of loads holds at a level; 64 and 1024 where nothing tells.
double small_pages_held(int level, const machine::Host& host);

}  // namespace tmaprobe::experiments
