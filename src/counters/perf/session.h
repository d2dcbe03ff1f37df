#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "counters/perf/collect.h"
#include "counters/perf/perf.h"
#include "counters/source.h"
#include "process/control_channel.h"

namespace tmaprobe::counters::perf {

/// All that one measurement of a command, a process or CPUs needs to know.
struct Session {
    const Scope& scope;
    const PerfOptions& options;
    const Plan& plan;
    std::size_t pass = 0;
    PassPlace place;
    double rotation_ns = 0;                      ///< how often the kernel rotates groups
    const std::set<std::uint64_t>& listed;       ///< common events that an Arm machine's PMUs implement
    process::ControlChannel* control = nullptr;  ///< through which it is told when to count; may be none
    /// Of Plan::latencies, those that are sampled while it counts.
    std::vector<PlannedEvent> latencies{};
    const Pass* regions = nullptr;  ///< what regions of the command count; null: they are not told apart
    PassPlace regions_place{};
};

/// Counts while the workload says so: its command (from exec, with children; or while scope's process or
/// CPUs are counted), its region, or until the process ends or SIGINT. Errors: as CounterSet::open, and
/// as HeldCommand.
Result<Sample> run_session(const Session& session, Workload& workload, const Repetition& repetition);

/// What the sample says beside its counts, begun if it is not there yet.
inline record::PerfDetail& perf_detail(Sample& sample) { return sample.perf ? *sample.perf : sample.perf.emplace(); }

/// The threads that a scope of processes or threads names. Errors: unavailable when one of them is not there.
Result<std::vector<pid_t>> threads_of(const Scope& scope, const ScopeDetail& detail);

/// The processes that a scope names.
std::vector<pid_t> pids_of(const Scope& scope, const ScopeDetail& detail);

}  // namespace tmaprobe::counters::perf
