#include "judge/series.h"

namespace tmaprobe::judge {

Result<record::Values> assess_values(const events::Table& table, const std::vector<record::Event>& events,
                                     const AssessRequest& request) {
    const auto metrics = TRY(assess(table, events, request));
    record::Values values;
    for (const record::Metric& metric : metrics)
        values[metric.name] = has_value(metric) ? std::optional(metric.value) : std::nullopt;
    return values;
}

Result<std::vector<record::IntervalValues>> assess_series(const events::Table& table,
                                                          const std::vector<Moment>& moments,
                                                          const AssessRequest& request) {
    std::vector<record::IntervalValues> series;
    for (const Moment& moment : moments) {
        auto values = TRY(assess_values(table, moment.events, request));
        series.push_back({moment.at_seconds, std::move(values), {}});
    }
    return series;
}

}  // namespace tmaprobe::judge
