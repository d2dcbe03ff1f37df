#pragma once

#include "kernels/kernel.h"

namespace tmaprobe::kernels::atomic {

/// Counters incremented with and without a lock, by one thread or several, in one variable, in one line
/// (false sharing) or in a line each. An operation is one increment by every thread.
KernelDescriptor descriptor();

/// Increments of each thread in one iteration.
inline constexpr int increments_per_iteration = 16;

}  // namespace tmaprobe::kernels::atomic
