#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "events/table.h"

namespace tmaprobe::events {

/// When a model of this machine is doubted, from events/clock-check.json.
struct ClockLimits {
    double ratio = 0;           ///< modelled over measured time of a whole command, or the other way
    std::uint64_t windows = 1;  ///< simulated ones; of fewer nothing is said
};

/// Errors: bad_input for a broken file.
Result<ClockLimits> read_clock_limits(const Library& library);

}  // namespace tmaprobe::events
