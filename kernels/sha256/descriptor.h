#pragma once

#include "kernels/kernel.h"

namespace tmaprobe::kernels::sha256 {

/// Hashes one message over and over: bound by the core's execution, with no memory traffic beyond L1.
KernelDescriptor descriptor();

}  // namespace tmaprobe::kernels::sha256
