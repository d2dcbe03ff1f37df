#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/mappings.h"
#include "process/stack_top.h"

namespace tmaprobe::symbols {

/// A thread that stood somewhere, and its process's code.
struct StackToWalk {
    process::StackTop top;
    const std::vector<process::CodeMapping>* code = nullptr;
};

/// The calls that led to each place, the innermost first: addresses of instructions within the calls that have not
/// returned. As far as unwinding tables (.eh_frame) lead, and as far as the stack was read; none where they lead
/// nowhere. Read in a process of its own: what is broken costs the answer and nothing else. Errors: unavailable when
/// that fails or takes longer than `patience_seconds`.
Result<std::vector<std::vector<std::uint64_t>>> call_stacks(const std::vector<StackToWalk>& stacks,
                                                            double patience_seconds = 20);

}  // namespace tmaprobe::symbols
