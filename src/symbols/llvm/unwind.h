#pragma once

#include <cstdint>
#include <vector>

#include "symbols/call_stacks.h"

namespace tmaprobe::symbols {

/// As call_stacks(), in this process: LLVM may end it when a file is broken. Without LLVM no stack has calls.
std::vector<std::vector<std::uint64_t>> unwind(const std::vector<StackToWalk>& stacks);

}  // namespace tmaprobe::symbols
