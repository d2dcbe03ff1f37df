#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/definition.h"

namespace tmaprobe::metrics {

/// What the counts of one event are worth, in events. `value` is already scaled by enabled/running.
struct Count {
    double value = 0;
    double low = 0, high = 0;  ///< bounds by multiplexing, passes or the model; equal to value when exact
    bool counted = true;       ///< false: time_running was 0
    double sources = 1;        ///< instances of the event's unit that were summed (source_count)
    double cpus = 1;           ///< CPUs that were summed (aggr_nr)
};

/// Counts by the event's spelling in the expressions ("UOPS_RETIRED.RETIRE_SLOTS",
/// "cpu@EVENT\\,cmask\\=1@"); an event that is absent was not asked for or could not be opened.
using Counts = std::map<std::string, Count, std::less<>>;

/// What expressions may ask of the machine and the run ("#smt_on", "#core_wide", "#slots", ...).
struct Constants {
    std::map<std::string, double, std::less<>> values;  ///< by lower-case name with the leading '#'
    std::string cpu_id;                                 ///< for strcmp_cpuid_str
    /// Whether the CPU has an event, for has_event(); empty: an event exists when it has a count.
    std::function<bool(std::string_view)> has_event;
};

enum class Outcome { value, unavailable, not_counted };

/// One metric evaluated. Exactly one of value (Outcome::value) or reason is meaningful.
struct MetricValue {
    std::string name;
    std::size_t definition = 0;  ///< index into the definitions that were given
    Outcome outcome = Outcome::unavailable;
    double value = 0, low = 0, high = 0;  ///< in the expression's own unit: a fraction, not percent
    bool bounded = true;                  ///< false: some input may be 0 where it divides; low, high = value
    std::string reason;                   ///< why there is no value
    std::optional<bool> over_threshold;   ///< empty: no threshold, or it could not be evaluated
};

/// Parses, resolves nested metrics and evaluates each of `wanted` (by name; all when empty) out of
/// `definitions`; a name that two PMUs of a hybrid share gives one value for each. Compiles anew on
/// each call: Formulas (formulas.h) is for many evaluations.
/// Errors: bad_input when an expression does not parse or names itself in a circle; bad_usage for a
/// wanted name that is not among the definitions.
Result<std::vector<MetricValue>> evaluate(const std::vector<MetricDefinition>& definitions,
                                          const std::vector<std::string>& wanted, const Counts& counts,
                                          const Constants& constants);

/// The events that these metrics need, with nested metrics followed, each spelt as in the table, once,
/// in order of appearance. Errors: as evaluate.
Result<std::vector<std::string>> events_needed(const std::vector<MetricDefinition>& definitions,
                                               const std::vector<std::string>& wanted, const Constants& constants);

}  // namespace tmaprobe::metrics
