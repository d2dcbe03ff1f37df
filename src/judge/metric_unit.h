#pragma once

#include "metrics/definition.h"
#include "record/kinds.h"

namespace tmaprobe::judge {

/// How a formula's result becomes the record's value.
struct UnitConversion {
    double factor = 1;
    record::MetricUnit unit = record::MetricUnit::none;
    bool share = false;  ///< a part of a whole: below 0 or above 1 is impossible
};

/// By the table's ScaleUnit ("100%", "1percent of cycles", "1e3per_1k_instr") and the metric's basis. What
/// the vendor shows in percent becomes a fraction, whether the formula or the unit multiplies by 100.
UnitConversion unit_conversion_of(const metrics::MetricDefinition& metric);

}  // namespace tmaprobe::judge
