#include "judge/series.h"

#include "judge/assessor.h"

namespace tmaprobe::judge {

namespace {

record::Values values_of(const std::vector<record::Metric>& metrics) {
    record::Values values;
    for (const record::Metric& metric : metrics)
        values[metric.name] = has_value(metric) ? std::optional(metric.value) : std::nullopt;
    return values;
}

}  // namespace

Result<record::Values> assess_values(const events::Table& table, const std::vector<record::Event>& events,
                                     const AssessRequest& request) {
    return values_of(TRY(assess(table, events, request)));
}

Result<std::vector<record::IntervalValues>> assess_series(const events::Table& table,
                                                          const std::vector<Moment>& moments,
                                                          const AssessRequest& request) {
    std::vector<record::IntervalValues> series;
    Assessor assessor(table, request);
    for (const Moment& moment : moments)
        series.push_back({moment.at_seconds, values_of(*TRY(assessor.values(moment.events))), {}});

    return series;
}

}  // namespace tmaprobe::judge
