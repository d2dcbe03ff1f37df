#include "experiments/series.h"

#include <nlohmann/json.hpp>

namespace tmaprobe::experiments {
namespace {

bool has_value(const record::Metric& metric) { return metric.status != "unavailable" && metric.status != "not_counted"; }

}  // namespace

Result<nlohmann::json> assess_values(const events::Table& table, const std::vector<record::Event>& events,
                                     const AssessRequest& request) {
    const auto metrics = assess(table, events, request);
    if (!metrics) return pass_on(metrics);
    auto values = nlohmann::json::object();
    for (const record::Metric& metric : *metrics)
        values[metric.name] = has_value(metric) ? nlohmann::json(metric.value) : nlohmann::json();
    return values;
}

Result<nlohmann::json> assess_series(const events::Table& table, const std::vector<Moment>& moments,
                                     const AssessRequest& request) {
    auto series = nlohmann::json::array();
    for (const Moment& moment : moments) {
        auto values = assess_values(table, moment.events, request);
        if (!values) return pass_on(values);
        series.push_back({{"at_seconds", moment.at_seconds}, {"metrics", std::move(*values)}});
    }
    return series;
}

}  // namespace tmaprobe::experiments
