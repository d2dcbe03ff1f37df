#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/key.h"
#include "events/table.h"
#include "judge/assess.h"
#include "judge/count_index.h"
#include "judge/metric_unit.h"
#include "metrics/formulas.h"

namespace tmaprobe::judge {

/// The latency at retirement that stands for "EVENT:R", in cycles.
struct LatencyValue {
    metrics::Count cycles;
    bool sampled = false;  ///< here, else published
};

/// A metric's events: how the formulas spell each, and what it counts.
struct Spelling {
    std::string text;
    events::EventKey key;
    std::optional<LatencyValue> latency;  ///< of "EVENT:R", where it is known
};

/// Formulas and events that stay the same for all sets of counts of one request.
struct Prepared {
    std::vector<metrics::MetricDefinition> definitions;  ///< of the chosen PMU
    std::vector<std::size_t> wanted;                     ///< of these, in the order asked for
    metrics::Formulas formulas;
    metrics::Constants constants;
    std::map<std::string, Spelling> spellings;
    std::vector<std::vector<std::string>> events_of;  ///< by wanted metric
};

/// The PMU of a hybrid whose tree is meant; "" where there is only one.
std::string choose_pmu(const events::Table& table, const std::vector<record::Event>& events, const std::string& asked);

/// What assessments of this request on one PMU have in common. The table outlives it. Errors: as assess.
Result<Prepared> prepare(const events::Table& table, const std::string& pmu, const AssessRequest& request);

/// Where the events of each wanted metric are taken from.
using Groups = std::vector<std::vector<GroupId>>;
Groups choose_groups(const Prepared& prepared, const CountIndex& index);

/// By what an event's count is multiplied before formulas see it: times are counted in ns, as perf prints them;
/// formulas take seconds, as perf gives them.
double unit_factor(const Spelling& spelling);

/// Name, place in the tree and words of a metric that has no value yet.
record::Metric describe(const metrics::MetricDefinition& definition, const UnitConversion& scale);

/// assess() with what is prepared already.
std::vector<record::Metric> assess_prepared(const Prepared& prepared, const events::Table& table,
                                            const std::vector<record::Event>& events, const AssessRequest& request);

}  // namespace tmaprobe::judge
