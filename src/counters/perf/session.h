#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "counters/perf/collect.h"
#include "counters/perf/perf.h"
#include "counters/source.h"

namespace tmaprobe::counters::perf {

/// All that one measurement of a command, a process or CPUs needs to know.
struct Session {
    const Scope& scope;
    const PerfOptions& options;
    const Plan& plan;
    std::size_t pass = 0;
    PassPlace place;
    double rotation_ns = 0;                 ///< how often the kernel rotates groups
    const std::set<std::uint64_t>& listed;  ///< common events that an Arm machine's PMUs implement
};

/// Counts while the workload says so: its command (from exec, with children; or while scope's process or
/// CPUs are counted), its region, or until the process ends or SIGINT. Errors: as CounterSet::open, and
/// as HeldCommand.
Result<Sample> run_session(const Session& session, Workload& workload, const Repetition& repetition);

/// What the sample says beside its counts, begun if it is not there yet.
inline record::PerfDetail& perf_detail(Sample& sample) { return sample.perf ? *sample.perf : sample.perf.emplace(); }

/// The thread ids of a process. Errors: unavailable when there is no such process.
Result<std::vector<pid_t>> threads_of(pid_t process);

}  // namespace tmaprobe::counters::perf
