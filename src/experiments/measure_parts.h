#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "experiments/measure.h"

namespace tmaprobe::experiments {

// Steps of a measurement that kernels and commands share.

/// Counts with this source and adds events, metrics and detail to the run. A hybrid's PMUs have a tree each: the second
/// becomes a run of its own.
Result<> add_counts(counters::CounterSource& source, const CountingRequest& request, const RepeatRequest& repeat,
                    const Setup& setup, counters::Workload& workload, std::uint64_t iterations,
                    const OnProgress& on_progress, MeasuredRun& measured);

/// Software events, the mean of so many runs. Where the machine refuses even these, the record says why, and a command
/// is run and timed all the same. Errors: where nothing but the counts was asked for (a process, CPUs), and those of
/// starting the command.
Result<> add_software_events(counters::Workload& workload, std::uint64_t iterations, const CountingRequest& request,
                             const Setup& setup, int repetitions, const OnProgress& on_progress, MeasuredRun& measured);

}  // namespace tmaprobe::experiments
