#pragma once

#include <functional>
#include <memory>

#include "counters/scope_detail.h"
#include "counters/source.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {

/// What the PMUs of this machine can hold, probed by opening events. Empty when there is no PMU.
std::vector<PmuLimits> probe_limits();

/// Whether the PMU takes the slots event that its sysfs shows: before Linux 6.11 virtual machines showed it, and
/// the topdown events behind it, where the hypervisor has none.
bool slots_open(const machine::Pmu& pmu);

/// Whether the kernel lets this thread count the event.
bool opens(const PlannedEvent& event);

/// errno of opening task-clock on this thread; 0: software events count.
int software_error();

/// How to count, beyond whose events.
struct PerfOptions {
    int interval_ms = 0;           ///< above 0: a series for commands, processes and CPUs (Sample::series)
    bool user_space_reads = true;  ///< read in-process counters by rdpmc where the kernel allows it
    /// Called with each step of the series as soon as it is over, from the thread that waits; may be empty.
    std::function<void(const Interval&)> on_interval{};
    double seconds = 0;  ///< for which processes and CPUs are counted; 0: until they end, or a signal comes
    ScopeDetail detail{};
    bool regions = false;             ///< tell apart what a command marks with tmaprobe/region.h
    std::vector<PmuLimits> limits{};  ///< as probed already; empty: they will be, when they are asked for
};

/// Real counters through perf_event_open (libperf). Errors: unavailable, no_permission with the remedy.
///
/// An in-process region counts the calling thread and Workload::threads(); a command counts from its exec,
/// with all its children. With Scope::process or Scope::cpus, the workload says only how long: until the
/// command ends, the region returns, the process ends, or SIGINT.
///
/// Sample::perf->overhead says what starting and stopping costs. The median counts of an empty pair are subtracted from
/// an in-process region's values (never from raw), for all events of a group or for none, and listed there.
Result<std::unique_ptr<CounterSource>> make_source(const Scope& scope, const PerfOptions& options = {});

}  // namespace tmaprobe::counters::perf
