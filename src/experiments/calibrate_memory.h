#pragma once

#include "base/result.h"
#include "experiments/clock_readings.h"
#include "machine/host.h"

namespace tmaprobe::experiments {

/// Adds what the clock tells of translation, of the caches, of how much of the last one this machine gets, and of
/// memory. Errors: interrupted; those of timing.
Result<> calibrate_memory(ClockReader& reader, const machine::Host& host, const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
