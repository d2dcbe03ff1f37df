#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/plan.h"
#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// In what an event of a PMU counts, where its driver says so.
struct EventUnit {
    double scale = 1;  ///< of a count, in `unit`
    std::string unit;  ///< as the kernel writes it: "Joules", "MiB"
};

/// Events that a user typed, to be counted beside the metrics.
struct FurtherEvents {
    std::vector<counters::PlannedEvent> events;
    std::vector<record::Warning> notes;              ///< event_of_another_cpu
    std::vector<std::vector<std::string>> together;  ///< names of events that were written in braces
    std::map<std::string, EventUnit> units;          ///< by name
};

/// As perf reads them: each text holds one event or several, split at commas that are in no slashes and no braces;
/// "{a,b}:u" is a group that counts at the same time. On a hybrid an event that names no PMU is counted on each that
/// has it. Beside the table's names: tracepoints ("sched:sched_switch"), events of PMUs that sysfs shows
/// ("power/energy-pkg/", "uncore_imc/cas_count_read/" on each of its boxes), and perf's names of caches
/// ("LLC-load-misses"), which the kernel translates. Errors: as events::resolve, machine::sourced_event and
/// machine::tracepoint_id; bad_usage for what asks for samples, which counting does not take.
Result<FurtherEvents> further_events(const events::Table& table, const std::vector<std::string>& spellings);

/// Keeps the events of each group in one group of the plan: they count at the same time, or not at all.
void keep_together(const std::vector<std::vector<std::string>>& groups, counters::Plan& plan);

/// Values in their units, as metrics: "power/energy-pkg/" in Joules.
std::vector<record::Metric> in_units(const std::map<std::string, EventUnit>& units,
                                     const std::vector<record::Event>& events);

}  // namespace tmaprobe::experiments
