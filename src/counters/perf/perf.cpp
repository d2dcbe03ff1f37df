#include "counters/perf/perf.h"

namespace tmaprobe::counters::perf {

std::vector<PmuLimits> probe_limits() { return {}; }
Result<std::unique_ptr<CounterSource>> make_source(const Scope&) {
    return fail(ErrorCode::unavailable, "no counters yet");
}

}  // namespace tmaprobe::counters::perf
