#pragma once

#include <optional>

#include "trace/remote_calls.h"
#include "trace/snapshot.h"

namespace tmaprobe::trace {

/// Replaces what a stopped copy shares with others and may write by private memory of the same contents. `why` says
/// what could not be replaced.
bool make_mappings_private(pid_t copy, RemoteCalls& calls, std::string& why);

}  // namespace tmaprobe::trace
