#pragma once

#include "counters/source.h"
#include "timing/timing.h"

namespace tmaprobe::experiments {

/// A workload as the timing room takes it. Both must outlive the region.
timing::TimedRegion timed_region(counters::CounterSource& clock, counters::Workload& workload);

/// Every repetition, in the order in which it ran, for whoever wants to compare distributions: see
/// runs[].extra.repetitions in docs/record.schema.json.
std::vector<record::TimedRepetition> repetitions_of(const timing::Timing& timing, double operations);

}  // namespace tmaprobe::experiments
