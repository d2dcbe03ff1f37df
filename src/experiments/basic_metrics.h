#pragma once

#include <string>
#include <vector>

#include "events/basic_metrics.h"
#include "events/table.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Spellings of the events of the basic metrics, as -e takes them: an event and what it is a share of count at the same
/// time. What this machine does not count is left out, since nobody asked for it. The table encodes them, else the
/// kernel.
std::vector<std::string> countable_pairs(const std::vector<events::BasicMetric>& known, const events::Table& table);

/// Adds what the run's counts make of them, but for metrics that the run has under the same name.
void add_basic_metrics(const std::vector<events::BasicMetric>& known, record::Run& run);

}  // namespace tmaprobe::experiments
