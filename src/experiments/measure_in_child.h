#pragma once

#include <sys/types.h>

#include <functional>

#include "base/result.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Measures in a child of its own, so that it can be put into a group (or die) without us: the record
/// comes back through a pipe. `before_release` gets the child's pid. While it runs, every 20 ms,
/// `interrupted` is asked and `on_tick` called (either may be empty).
/// Errors: those of `measure`; system when the child died; interrupted.
Result<record::Record> measure_in_child(const std::function<Result<record::Record>()>& measure,
                                        const std::function<Result<>(pid_t)>& before_release,
                                        const std::function<bool()>& interrupted, const std::function<void()>& on_tick);

}  // namespace tmaprobe::experiments
