#pragma once

#include <string>
#include <vector>

#include "machine/host.h"
#include "machine/kernel_version.h"
#include "machine/perf_cause.h"

namespace tmaprobe::machine {

/// What decides whether perf_event_open works for us, gathered once.
struct PerfAccess {
    int paranoid = -2;         ///< kernel.perf_event_paranoid; -2: the file is missing
    bool seccomp = false;      ///< a seccomp filter is active on this process
    bool cap_perfmon = false;  ///< CAP_PERFMON or CAP_SYS_ADMIN is effective
    std::string container;     ///< "docker", "podman", "lxc", "kubernetes", ...; empty: none noticed
    std::string hypervisor;    ///< empty: bare metal
    std::string kernel;        ///< uname -r
    bool core_pmu = false;     ///< sysfs shows a core PMU
    bool nmi_watchdog = false;
    long fd_limit = 0;               ///< RLIMIT_NOFILE, hard: the soft one is raised to it
    KernelVersion kernel_version{};  ///< of Linux, whatever the distribution calls it; all 0: not known
    std::string counter_users{};     ///< as find_counter_users() has them; looked for only where counters are taken
};

PerfAccess detect_perf_access();

/// The same where the host is known already: its hypervisor's name and kernel settings are taken from it.
PerfAccess perf_access_of(const Host& host);

/// Why a counter could not be opened or read, with its remedy. The one table that the source's errors
/// and `tmaprobe doctor` share.
struct PerfProblem {
    PerfCause cause = PerfCause::unexpected;
    std::string what;         ///< one line
    std::string hint;         ///< the remedy, as a command where there is one
    bool permission = false;  ///< a policy refuses it, the hardware would do it
};

/// What kind of event was asked for when the error came.
enum class Asked { hardware, with_kernel, software, system_wide, other_process };

/// The cause of an errno from perf_event_open, given what this machine allows.
PerfProblem diagnose(int error_number, Asked asked, const PerfAccess& access);

/// A cause that does not come as an errno, in words. Those that do are told by diagnose(); for them `what` is empty
/// here.
PerfProblem problem_of(PerfCause cause, const PerfAccess& access);

}  // namespace tmaprobe::machine
