#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "counters/plan.h"
#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Events that a user typed, to be counted beside the metrics.
struct FurtherEvents {
    std::vector<counters::PlannedEvent> events;
    std::vector<record::Warning> notes;  ///< event_of_another_cpu
};

/// On a hybrid an event that names no PMU is counted on each that has it. Errors: as events::resolve.
Result<FurtherEvents> further_events(const events::Table& table, const std::vector<std::string>& spellings);

}  // namespace tmaprobe::experiments
