#include "counters/perf/errors.h"

#include "counters/perf/attributes.h"

namespace tmaprobe::counters::perf {

machine::Asked asked_for(const PlannedEvent& event, const CountingTarget& target) {
    if (target.threads == std::vector<pid_t>{-1}) return machine::Asked::system_wide;
    if (target.other_process && !target.kernel) return machine::Asked::other_process;
    if (is_software(event)) return needs_kernel(event) ? machine::Asked::with_kernel : machine::Asked::software;
    if (target.kernel) return machine::Asked::with_kernel;
    return machine::Asked::hardware;
}

Error to_error(const machine::PerfProblem& cause) {
    return {cause.permission ? ErrorCode::no_permission : ErrorCode::unavailable, cause.what, cause.hint};
}

tl::unexpected<Error> explain_open(int error_number, const PlannedEvent& event, const CountingTarget& target) {
    Error error = to_error(machine::diagnose(error_number, asked_for(event, target), machine::detect_perf_access()));
    error.what = "cannot count " + event.name + ": " + error.what;
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace tmaprobe::counters::perf
