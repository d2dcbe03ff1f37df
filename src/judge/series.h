#pragma once

#include <vector>

#include "base/result.h"
#include "judge/assess.h"

namespace tmaprobe::judge {

/// What was counted in one interval.
struct Moment {
    double at_seconds = 0;  ///< end of the interval, since the run began
    std::vector<record::Event> events;
};

/// The metrics' values alone, for the many small trees of a series or of single cores; nothing where a metric has no
/// value. Errors: as assess.
Result<record::Values> assess_values(const events::Table& table, const std::vector<record::Event>& events,
                                     const AssessRequest& request);

/// The metrics of each interval. Errors: as assess.
Result<std::vector<record::IntervalValues>> assess_series(const events::Table& table,
                                                          const std::vector<Moment>& moments,
                                                          const AssessRequest& request);

}  // namespace tmaprobe::judge
