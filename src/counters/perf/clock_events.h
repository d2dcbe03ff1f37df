#pragma once

#include <cstdint>
#include <vector>

#include "counters/plan.h"
#include "record/record.h"

namespace tmaprobe::counters::perf {

/// A moment, or the time between two, by the run's clocks.
struct Instant {
    std::uint64_t ns = 0;
    std::uint64_t ticks = 0;  ///< of the time-stamp counter; 0 where the architecture has none

    Instant since(const Instant& earlier) const { return {ns - earlier.ns, ticks - earlier.ticks}; }
    Instant plus(const Instant& more) const { return {ns + more.ns, ticks + more.ticks}; }
};

Instant now();

/// Whether the event is one of the run's clocks, for which no counter is opened: perf's own tool event
/// duration_time, and on x86-64 the time-stamp counter, msr/tsc/.
///
/// The latter's PMU counts per thread only while the thread runs, and per CPU once for each CPU; formulas
/// divide it by duration_time and want the rate of one time-stamp counter. Read here it needs no
/// permission, and is right for many threads and for one that sleeps.
bool is_clock_event(const PlannedEvent& event);

/// Gives the clock events among a measurement's events the time that it took.
void set_clock_events(std::vector<record::Event>& events, const Instant& elapsed);

}  // namespace tmaprobe::counters::perf
