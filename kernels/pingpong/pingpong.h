#pragma once

#include "kernels/kernel.h"

namespace tmaprobe::kernels::pingpong {

/// One cache line bounced between two threads on two CPUs. An operation is one way; an iteration, there
/// and back, is two.
KernelDescriptor descriptor();

}  // namespace tmaprobe::kernels::pingpong
