#pragma once

#include "base/result.h"
#include "counters/perf/counter_set.h"
#include "machine/perf_access.h"

namespace tmaprobe::counters::perf {

/// What was asked of the kernel when this event was opened.
machine::Asked asked_for(const PlannedEvent& event, const CountingTarget& target);

/// The error of opening this event, by cause, with its remedy.
tl::unexpected<Error> explain_open(int error_number, const PlannedEvent& event, const CountingTarget& target);

/// A cause as an error: no_permission when a policy refuses, else unavailable.
Error to_error(const machine::PerfProblem& cause);

}  // namespace tmaprobe::counters::perf
