#pragma once

#include <optional>
#include <vector>

#include "counters/plan.h"
#include "events/table.h"
#include "experiments/counting.h"
#include "machine/host.h"
#include "machine/perf_access.h"
#include "metrics/evaluate.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Flags counts that cannot be 0 and are, and says which.
void say_impossible_zeros(const events::Table& table, Counted& counted, std::vector<record::Warning>& warnings);

/// What is to be said of metrics that were really counted part by part: in several runs, or not all the time.
std::optional<record::Warning> say_split(const counters::Plan& plan, const std::vector<record::Metric>& metrics);

/// What is to be said of metrics with a value that take latencies at retirement ("EVENT:R"): whether these were
/// sampled, and of those that were not, why, and that the vendor's published means stand in for them.
std::vector<record::Warning> say_latencies(const events::Table& table, const metrics::Constants& constants,
                                           const std::vector<record::Metric>& metrics,
                                           const std::vector<record::RetireLatency>& latencies);

/// Whether hardware events were enabled, and not one of them ever had a counter.
bool nothing_was_counted(const std::vector<record::Event>& events);

/// No counter can be had for a tree now, and nothing was started yet; or all were lost while it ran. Both name who
/// holds them, as far as that can be seen.
machine::PerfProblem counters_held(const machine::Host& host);
machine::PerfProblem counters_lost(const machine::Host& host);

}  // namespace tmaprobe::experiments
