#pragma once

#include <optional>

#include "process/stack_top.h"
#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// Of a stopped thread. Nothing where it cannot be read.
std::optional<process::StackTop> read_stack_top(const TracedProcess& process);

}  // namespace tmaprobe::trace
