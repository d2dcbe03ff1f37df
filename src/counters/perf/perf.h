#pragma once

#include <memory>

#include "counters/source.h"

namespace tmaprobe::counters::perf {

/// What the PMUs of this machine can hold, probed by opening events. Empty when there is no PMU.
std::vector<PmuLimits> probe_limits();

/// Real counters through perf_event_open (libperf). Errors: unavailable, no_permission with the remedy.
Result<std::unique_ptr<CounterSource>> make_source(const Scope& scope);

}  // namespace tmaprobe::counters::perf
