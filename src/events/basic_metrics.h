#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// A metric of events that the kernel names itself, and so of every CPU. From events/basic-metrics.json.
struct BasicMetric {
    std::string name, what;
    std::string event;
    std::string per;  ///< the event that it is a share of; empty: a count
};

/// Errors: bad_input for a broken file.
Result<std::vector<BasicMetric>> read_basic_metrics(const Library& library);

}  // namespace tmaprobe::events
