#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

#include "counters/perf/counter_set.h"
#include "counters/perf/session.h"
#include "process/held_command.h"

namespace tmaprobe::counters::perf {

/// What a session counts as it is now; `command`: null where none was started. Errors: as threads_of.
Result<CountingTarget> target_of(const Session& session, const process::HeldCommand* command);

/// Adds the threads that each of several control groups has now.
void add_members(const ScopeDetail& detail, std::vector<std::set<pid_t>>& groups);

/// Opens these groups of the session's pass. A process may end threads meanwhile: then it is tried without these. Those
/// that start are counted with the threads that start them. Errors: as CounterSet::open.
Result<CounterSet> open_on(const Session& session, CountingTarget target, const std::vector<std::size_t>& groups);

}  // namespace tmaprobe::counters::perf
