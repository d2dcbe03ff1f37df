#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "trace/remote_calls.h"

namespace tmaprobe::trace {

/// A copy is followed a thousand times slower than its original runs: by the machine's clocks all its time limits
/// would be over at once, and it would do what no original does. This stops the clocks that the kernel maps into it,
/// and gives the value of the time stamp counter at that moment, from which the copy's own goes on
/// (Tracer::time_stamp). Nothing where that cannot be done: the copy then sees the machine's clocks.
std::optional<std::uint64_t> stop_clocks(pid_t copy, RemoteCalls& calls);

}  // namespace tmaprobe::trace
