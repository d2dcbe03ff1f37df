#pragma once

#include <optional>

#include "events/clock_limits.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// Sets the verdict, and says what a doubtful one means.
std::optional<record::Warning> judge_clock(const events::ClockLimits& limits, record::ClockCheck& check);

}  // namespace tmaprobe::judge
