#pragma once

#include <linux/perf_event.h>

#include "base/result.h"
#include "counters/perf/counter_set.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {

/// True for the kernel's own events (task-clock, page-faults, ...), which need no counter.
bool is_software(const PlannedEvent& event);

/// True for the kernel's static tracepoints.
bool is_tracepoint(const PlannedEvent& event);

/// True for software events that happen in the kernel only: with exclude_kernel they read 0, which is
/// wrong, so they must not be opened that way.
/// The core PMU whose event it is: by name, or by the number that the kernel's own names carry where there are several
/// kinds of cores; null: none of these.
const machine::Pmu* core_of(const PlannedEvent& event, const std::vector<machine::Pmu>& pmus);

bool needs_kernel(const PlannedEvent& event);

/// The attributes of one event. Software events ask for the kernel's part always, since they count what
/// the kernel does for the program. Errors: unavailable when this machine has no such PMU.
Result<perf_event_attr> make_attributes(const PlannedEvent& event, const CountingTarget& target, bool is_leader,
                                        const std::vector<machine::Pmu>& pmus);

/// Says in the log how opening an event went; `error`: errno, 0: it is open.
void log_open(const PlannedEvent& event, const perf_event_attr& attributes, bool is_leader, int error);

}  // namespace tmaprobe::counters::perf
