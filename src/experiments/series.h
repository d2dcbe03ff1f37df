#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "experiments/assess.h"

namespace tmaprobe::experiments {

/// What was counted in one interval.
struct Moment {
    double at_seconds = 0;  ///< end of the interval, since the run began
    std::vector<record::Event> events;
};

/// The metrics' values alone, for the many small trees of a series or of single cores: {name: value, or null
/// where it has none}. Errors: as assess.
Result<nlohmann::json> assess_values(const events::Table& table, const std::vector<record::Event>& events,
                                     const AssessRequest& request);

/// The metrics of each interval as a run's `series` holds them and reports draw them:
/// [{"at_seconds", "metrics": as of assess_values}, ...].
/// Errors: as assess.
Result<nlohmann::json> assess_series(const events::Table& table, const std::vector<Moment>& moments,
                                     const AssessRequest& request);

}  // namespace tmaprobe::experiments
