#pragma once

#include <array>
#include <cstdint>

#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// Has the stopped thread make a system call, from where it stands; its registers and code are as before afterwards.
/// What the call returned, errors included. Errors: no_permission when its code cannot be written; system.
Result<std::uint64_t> inject_system_call(TracedProcess& process, std::uint64_t number,
                                         const std::array<std::uint64_t, 6>& arguments);

}  // namespace tmaprobe::trace
