#pragma once

#include <map>
#include <string>
#include <vector>

#include "counters/plan.h"
#include "events/kernel_bugs.h"
#include "machine/host.h"
#include "machine/perf_access.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::experiments {

/// One line of `tmaprobe doctor`, and the text of the error that the same cause gives when measuring.
struct Check {
    enum class State { ok, note, warning, blocks } state = State::ok;
    std::string id;    ///< stable: "paranoid", "no_pmu_in_vm", "nmi_watchdog", ...
    std::string what;  ///< what was found
    std::string hint;  ///< the remedy, as a command where there is one
};

/// "ok", "note", "warning" or "blocks".
std::string state_name(Check::State state);

/// Reserved huge pages of one size.
struct HugePages {
    long total = 0, free = 0;
};

/// All that the checks look at, gathered once; tests make their own.
struct Environment {
    machine::Host host;
    machine::PerfAccess access;
    std::vector<machine::Pmu> pmus;
    std::vector<counters::PmuLimits> limits;  ///< probed; empty: no hardware event opens
    int software_error = 0;                   ///< errno of opening task-clock; 0: it counts
    std::string event_table;                  ///< "Zen 4 (amdzen4)"; empty: none for this CPU
    std::string contradicted;                 ///< the core that the CPU's features fit where they contradict its id
    std::string stand_in;             ///< the core that the model takes where no table has this CPU: "Zen 5 (amdzen5)"
    bool shares_core_slots = false;   ///< the table's slots belong to the core, not the thread (before Ice Lake)
    bool wants_perf_metrics = false;  ///< the table has topdown-* events
    std::vector<events::KernelBug> kernel_bugs;  ///< all that are known, of any version
    bool model_built = false;
    std::string calibrated;                         ///< when this CPU was, UTC; empty: it was not
    std::string calibration_problem;                ///< why the calibration of this CPU is not used
    std::optional<Error> tracing;                   ///< why this process may not trace its children; empty: it may
    std::map<std::uint64_t, HugePages> huge_pages;  ///< by page size in bytes; what the kernel knows
    std::string transparent_huge_pages;             ///< "always", "madvise", "never"; empty: not in this kernel
    bool resctrl_known = false, resctrl_mounted = false;
    std::vector<std::string> resctrl_leftovers;  ///< groups that a killed run of ours left behind
    std::vector<machine::Tlb> tlbs;              ///< with those that only the CPU's table has
    std::vector<int> offline_cpus;
    bool arm_user_access = false;  ///< kernel.perf_user_access is 1
    bool mediated_vpmu = false;    ///< KVM lends the counters to virtual machines while they run
};

Environment look_around(const machine::Host& host);

/// The checklist; a `blocks` means that no hardware counter can be measured.
std::vector<Check> check(const Environment& surroundings);

/// Looks around and checks.
std::vector<Check> check_all(const machine::Host& host);

}  // namespace tmaprobe::experiments
