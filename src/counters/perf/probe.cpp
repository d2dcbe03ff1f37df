#include "counters/perf/perf.h"

namespace tmaprobe::counters::perf {
std::vector<PmuLimits> probe_limits() { return {}; }
}  // namespace tmaprobe::counters::perf
