#pragma once

#include <string>

#include "base/result.h"
#include "experiments/counting.h"
#include "experiments/kernel_run.h"
#include "experiments/run.h"
#include "experiments/setup.h"
#include "record/record.h"
#include "timing/timing.h"

namespace tmaprobe::experiments {

/// A finished run with what is to be said about all of the record.
struct MeasuredRun {
    record::Run run;
    std::vector<record::Run> further_runs;  ///< of a hybrid's second PMU, where both kinds of cores took part
    record::Source source;
    std::string why_source;  ///< where another source than the decided one had to do; else empty
    std::vector<record::Warning> warnings;
    std::vector<CommandRun> command_runs;  ///< a command's, in the order in which they ran; without warm-ups
    std::optional<int> exit_status;        ///< a command's: of the first run that failed, else 0
};

/// Builds the kernel in its memory, times it natively, counts it with the decided sources and evaluates
/// the metrics. `timing` is copied, so that a sweep can give each point less time.
/// Errors: those of the kernel, the memory and the sources.
Result<MeasuredRun> measure_kernel(const CountingRequest& request, const RepeatRequest& repeat, const Setup& setup,
                                   const KernelRun& point, const timing::TimingRequest& timing,
                                   const OnProgress& on_progress);

/// Several points of one kernel on the same CPUs, all in memory at once and timed in turn, so that their
/// times can be compared; then each is counted. One point: measure_kernel. Errors: as measure_kernel;
/// unavailable when they do not fit into memory together.
Result<std::vector<MeasuredRun>> measure_in_turn(const CountingRequest& request, const RepeatRequest& repeat,
                                                 const Setup& setup, const std::vector<KernelRun>& points,
                                                 const timing::TimingRequest& timing, const OnProgress& on_progress);

/// The user's command. Once, or as often as the request says: then the runs are native ones, counted where there are
/// counters, and the model gets one more. Warm-up runs come first. Without argv: a process or CPUs, for as long as they
/// are counted. Errors: as check_command; those of the sources.
Result<MeasuredRun> measure_command(const RunRequest& request, const Setup& setup, const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
