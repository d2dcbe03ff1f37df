#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/definition.h"

namespace tmaprobe::metrics {

/// What the counts of one event are worth, in events. `value` is already scaled by enabled/running.
struct Count {
    double value = 0;
    double low = 0, high = 0;  ///< bounds by multiplexing, passes or the model; equal to value when exact
    bool counted = true;       ///< false: time_running was 0
};

/// Counts by the event's spelling in the expressions ("UOPS_RETIRED.RETIRE_SLOTS",
/// "cpu@EVENT\\,cmask\\=1@"); an event that is absent was not asked for or could not be opened.
using Counts = std::map<std::string, Count, std::less<>>;

/// What expressions may ask of the machine and the run ("#smt_on", "#core_wide", "#slots", ...).
struct Constants {
    std::map<std::string, double, std::less<>> values;  ///< by name with the leading '#'
    std::string cpu_id;  ///< for strcmp_cpuid_str
};

enum class Outcome { value, unavailable, not_counted };

/// One metric evaluated. Exactly one of value (Outcome::value) or reason is meaningful.
struct MetricValue {
    std::string name;
    Outcome outcome = Outcome::unavailable;
    double value = 0, low = 0, high = 0;  ///< in the expression's own unit: a fraction, not percent
    std::string reason;                   ///< why there is no value
    std::optional<bool> over_threshold;   ///< empty: no threshold, or it could not be evaluated
};

/// Parses, resolves nested metrics and evaluates each of `wanted` (by name; all when empty) out of
/// `definitions`. Errors: bad_input when an expression does not parse or names itself in a circle.
Result<std::vector<MetricValue>> evaluate(const std::vector<MetricDefinition>& definitions,
                                          const std::vector<std::string>& wanted, const Counts& counts,
                                          const Constants& constants);

/// The events that these metrics need, with nested metrics followed, each spelt as in the table, once,
/// in order of appearance. Errors: as evaluate.
Result<std::vector<std::string>> events_needed(const std::vector<MetricDefinition>& definitions,
                                               const std::vector<std::string>& wanted,
                                               const Constants& constants);

}  // namespace tmaprobe::metrics
