#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "metrics/evaluate.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// How counted events are to be judged.
struct AssessRequest {
    std::vector<std::string> metrics;  ///< by name, from choose_metrics
    metrics::Constants constants;
    std::string pmu;                                   ///< of a hybrid; empty: the first of pmus_of()
    record::Status status = record::Status::measured;  ///< of a metric that has a value: measured|modelled|replayed
    /// Latencies at retirement as they were sampled: they take the place of the published ones.
    std::vector<record::RetireLatency> latencies;
    /// The same counters in single repetitions or model variations: the spread of each metric over them
    /// widens its low..high.
    std::vector<std::vector<record::Event>> repetitions, variations;
};

/// Metrics of the top-down tree down to `level` and further ones: names, or "tlb" for the translation
/// metrics. Where the tree is this project's own estimate, what such a CPU counts exactly stands below it: the
/// metrics that stand below it, and those of translation. In the order of the tree: front end, bad speculation, back
/// end, retiring, others, each before its children. Errors: bad_usage for an unknown name (with a suggestion); never
/// for a level that the CPU's vendor does not publish (the tree ends where it ends).
Result<std::vector<std::string>> choose_metrics(const events::Table& table, int level,
                                                const std::vector<std::string>& further);

/// The record's metrics out of counted events: evaluated, in fractions whatever the table's unit, with
/// status, reason, bounds, share of time counted, threshold, bottleneck path and flags for impossible
/// values. An event that was counted in several groups is taken, for each metric, from the group that
/// holds all of that metric's events; where none does, from the first that has it.
/// Errors: bad_input for a table whose expressions do not parse.
Result<std::vector<record::Metric>> assess(const events::Table& table, const std::vector<record::Event>& events,
                                           const AssessRequest& request);

}  // namespace tmaprobe::judge
