#pragma once

#include <string>

#include "metrics/definition.h"

namespace tmaprobe::experiments {

/// How a formula's result becomes the record's value.
struct Scale {
    double factor = 1;
    std::string unit;    ///< as in record::Metric
    bool share = false;  ///< a part of a whole: below 0 or above 1 is impossible
};

/// By the table's ScaleUnit ("100%", "1percent of cycles", "1e3per_1k_instr") and the metric's basis. What
/// the vendor shows in percent becomes a fraction, whether the formula or the unit multiplies by 100.
Scale scale_of(const metrics::MetricDefinition& metric);

}  // namespace tmaprobe::experiments
