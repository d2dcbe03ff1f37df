#pragma once

#include <optional>

#include "trace/remote_calls.h"
#include "trace/snapshot.h"

namespace tmaprobe::trace {

/// Replaces what a stopped copy shares with others and may write by private memory of the same contents; of memory that
/// is large and that the copy may not open, by what the original has touched. `why` says what could not be replaced.
bool make_mappings_private(pid_t original, pid_t copy, RemoteCalls& calls, std::string& why);

}  // namespace tmaprobe::trace
