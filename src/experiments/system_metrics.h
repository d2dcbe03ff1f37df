#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "events/system_metrics.h"
#include "machine/host.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// The spellings of the events that this machine has for metrics of the machine ("power", "memory_bandwidth").
/// Errors: unavailable where it has none for one of them, with what was looked for.
Result<std::vector<std::string>> events_of_system_metrics(const std::vector<events::SystemMetric>& known,
                                                          const std::vector<std::string>& names);

/// What the counts of these events make, each metric once: sums over the PMUs of one kind.
std::vector<record::Metric> system_metrics(const std::vector<events::SystemMetric>& known,
                                           const std::vector<std::string>& names,
                                           const std::vector<record::Event>& counted, const machine::Host& host);

}  // namespace tmaprobe::experiments
