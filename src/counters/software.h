#pragma once

#include "counters/plan.h"

namespace tmaprobe::counters {

/// The kernel's own events (task-clock, page-faults, context-switches, cpu-migrations) as a plan of one
/// pass: they count on any machine that allows perf_event_open, with or without a PMU.
Plan software_plan();

}  // namespace tmaprobe::counters
