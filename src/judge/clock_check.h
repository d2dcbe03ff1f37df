#pragma once

#include <optional>

#include "events/clock_limits.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// Sets the verdict, and says what a doubtful one means.
std::optional<record::Warning> judge_clock(const events::ClockLimits& limits, record::ClockCheck& check);

/// The same of a kernel, whose check has the instructions of an operation: adds both times of one, in ns, at the clock
/// at which it was timed. A verdict needs three repetitions with nobody beside them.
std::optional<record::Warning> judge_kernel_clock(const events::ClockLimits& limits, const record::Time& time,
                                                  record::ModelDetail& model);

}  // namespace tmaprobe::judge
