#pragma once

#include <cstdint>
#include <vector>

#include "counters/plan.h"

namespace tmaprobe::counters {

/// Whether two events are the same to the PMU. Those without an encoding are told apart by name.
bool same_encoding(const PlannedEvent& a, const PlannedEvent& b);

/// Intel's topdown-* events: fields of PERF_METRICS, which use no counter but need slots as their leader.
/// Told by encoding: event 0, umask 0x80 and above.
bool is_topdown_metric(const events::EventDefinition& event, events::PmuFormat format);

/// Intel's slots (fixed counter 3).
bool is_slots(const events::EventDefinition& event, events::PmuFormat format);

/// A set of counters: general-purpose ones from bit 0, fixed ones from bit 32.
using CounterMask = std::uint64_t;

/// The counters that may hold this event on a PMU with these limits: the table's Counter field, narrowed
/// by what Linux's drivers enforce (arch/x86/events/intel/core.c, arch/x86/events/amd/core.c,
/// drivers/perf/arm_pmuv3.c). 0: none.
CounterMask allowed_counters(const events::EventDefinition& event, const PmuLimits& limits, events::PmuFormat format);

/// Whether all these events of one PMU can count at the same time: each on a counter of its own (AMD's
/// FLOP events need two), with at most one value per extra register where it exists once, two where it
/// exists twice. topdown-* events count as none.
bool fits(const std::vector<PlannedEvent>& events, const PmuLimits& limits, events::PmuFormat format);

}  // namespace tmaprobe::counters
