#include <cerrno>
#include <cstring>
#include <string>

#include "machine/perf_access.h"

namespace tmaprobe::machine {
namespace {

constexpr const char* grant_capability = "run as root, or: sudo setcap cap_perfmon=ep $(command -v tmaprobe)";
constexpr const char* without_counters = "--source model needs no counters";

PerfProblem no_pmu(const PerfAccess& access) {
    if (access.hypervisor.empty())
        return {PerfCause::no_pmu, "the kernel drives no hardware counters on this CPU",
                std::string(
                    "sudo dmesg | grep -i -e pmu -e 'performance events' says why: the driver may be missing, or the "
                    "firmware may have disabled the counters; ") +
                    without_counters};
    const std::string what = "this virtual machine has no hardware counters (" + access.hypervisor + ")";
    std::string remedy = "use an instance type that passes the PMU through (often bare metal or the largest sizes)";
    if (access.hypervisor == "VMware")
        remedy = "enable 'Virtualize CPU performance counters' for this virtual machine (vpmc.enable = \"TRUE\")";
    else if (access.hypervisor == "KVM" || access.hypervisor == "QEMU")
        remedy = "on your own host: -cpu host,pmu=on (libvirt: <pmu state='on'/>); in a cloud: " + remedy;
    return {PerfCause::no_pmu_in_vm, what, remedy + "; " + without_counters};
}

/// Debian and Ubuntu added levels above the kernel's own -1..2; they refuse everything.
std::string paranoid_meaning(int level) {
    const std::string shown = "kernel.perf_event_paranoid is " + std::to_string(level) + ": ";
    if (level >= 4) return shown + "it refuses every event to ordinary users (Ubuntu's level)";
    if (level == 3) return shown + "it refuses every event to ordinary users (Debian's level)";
    if (level == 2) return shown + "ordinary users may count their own user-mode code only";
    if (level == 1) return shown + "ordinary users may count their own processes, but no whole CPU";
    return shown + "ordinary users may count everything except raw tracepoints";
}

int highest_level_for(Asked asked) {
    switch (asked) {
        case Asked::system_wide:
            return 0;
        case Asked::with_kernel:
            return 1;
        default:
            return 2;
    }
}

PerfProblem paranoid(Asked asked, const PerfAccess& access) {
    const std::string level = std::to_string(highest_level_for(asked));
    std::string hint = "sudo sysctl kernel.perf_event_paranoid=" + level + "; or " + grant_capability;
    if (asked == Asked::with_kernel) hint = "count user mode only (leave --kernel-mode out); or " + hint;
    return {PerfCause::paranoid, paranoid_meaning(access.paranoid), hint, true};
}

PerfProblem refused(int error_number, Asked asked, const PerfAccess& access) {
    const bool level_allows = access.cap_perfmon || access.paranoid <= highest_level_for(asked);
    // A seccomp filter answers before the kernel's own check can: container run times use EPERM.
    if (access.seccomp && (level_allows || error_number == EPERM))
        return {PerfCause::seccomp,
                "a seccomp filter refuses perf_event_open" +
                    (access.container.empty() ? std::string() : " in this " + access.container + " container"),
                "docker run --cap-add PERFMON --security-opt seccomp=unconfined ..., or a profile that allows "
                "perf_event_open",
                true};
    if (!level_allows) return paranoid(asked, access);
    if (asked == Asked::other_process)
        return {PerfCause::not_your_process, "the process belongs to another user or may not be traced",
                "run as its user, or with CAP_PERFMON (and CAP_SYS_PTRACE before Linux 5.9)", true};
    if (!access.container.empty() && !access.cap_perfmon)
        return {PerfCause::no_cap_perfmon, "CAP_PERFMON is missing in this " + access.container + " container",
                "docker run --cap-add PERFMON ..., or sudo sysctl kernel.perf_event_paranoid=1 on the host", true};
    return {PerfCause::security_module, "a security module (SELinux, AppArmor, lockdown) refuses perf_event_open",
            "sudo ausearch -m avc -ts recent, or sudo dmesg | grep -i -e denied -e lockdown, says which", true};
}

PerfProblem unsupported(int error_number) {
    const std::string refused_as = std::string(" (") + std::strerror(error_number) + ")";
    return {PerfCause::unsupported_event, "the PMU does not take this event" + refused_as,
            "tmaprobe list events shows those of this CPU; a virtual machine may offer fewer"};
}

}  // namespace

PerfProblem diagnose(int error_number, Asked asked, const PerfAccess& access) {
    const bool hardware = asked != Asked::software;
    switch (error_number) {
        case EACCES:
        case EPERM:
            return refused(error_number, asked, access);
        case ENOSYS:
            return {PerfCause::no_perf_events,
                    "this kernel has no perf_event_open (CONFIG_PERF_EVENTS), or a sandbox hides it",
                    "use a kernel with CONFIG_PERF_EVENTS=y; gVisor and user-mode emulators have none"};
        case ENOENT:
        case EOPNOTSUPP:
        case ENXIO:  // seen from VMware's virtual PMU
            return hardware && !access.core_pmu ? no_pmu(access) : unsupported(error_number);
        case EINVAL:
            return unsupported(error_number);
        case ENODEV:
            if (hardware && !access.core_pmu) return no_pmu(access);
            return {PerfCause::cpu_offline, "the CPU is offline, or this PMU does not count there",
                    "cat /sys/devices/system/cpu/online, and name only those CPUs"};
        case EBUSY:
            return {PerfCause::counters_taken, "another user holds the counters exclusively",
                    "sudo lsof | grep perf_event shows who; stop other profilers (perf, vtune, likwid)"};
        case ENOSPC:
            return {PerfCause::counters_taken, "all counters of this kind are in use",
                    "sudo lsof | grep perf_event shows who; stop other profilers (perf, vtune, likwid)"};
        case EMFILE:
        case ENFILE:
            return {PerfCause::too_many_files,
                    "out of file descriptors (limit " + std::to_string(access.fd_limit) +
                        "): each event needs one per thread or CPU",
                    "sudo prlimit --pid $$ --nofile=65536 raises it for this shell; or fewer metrics, threads or CPUs"};
        case ESRCH:
            return {PerfCause::no_such_process, "there is no such process or thread", "ps -e shows those there are"};
        case E2BIG:
            return {PerfCause::old_kernel, "this kernel is too old for the event's attributes",
                    "use Linux 4.18 or later"};
        case ENOMEM:
            return {PerfCause::no_memory, "the kernel has no memory for the event", "free some memory, or count less"};
        default:
            return {PerfCause::unexpected, std::string("perf_event_open failed: ") + std::strerror(error_number),
                    "sudo dmesg | tail may say more"};
    }
}

PerfProblem problem_of(PerfCause cause, const PerfAccess& access) {
    const std::string users = access.counter_users.empty() ? "" : ": " + access.counter_users;
    switch (cause) {
        case PerfCause::no_pmu:
        case PerfCause::no_pmu_in_vm:
            return no_pmu(access);
        case PerfCause::paranoid:
            return paranoid(Asked::hardware, access);
        case PerfCause::not_scheduled:
            return {cause,
                    "the event was never on a counter: " +
                        std::string(access.nmi_watchdog ? "the NMI watchdog or another user holds it"
                                                        : "another user holds the counters") +
                        users,
                    access.nmi_watchdog ? "sudo sysctl kernel.nmi_watchdog=0 (and back to 1 afterwards)"
                                        : "sudo lsof | grep perf_event shows who; stop other profilers"};
        case PerfCause::hollow_pmu:
            return {cause, "a hardware counter opens but stays at 0: the virtual PMU has no hardware behind it",
                    std::string("use another instance type; ") + without_counters};
        case PerfCause::no_cap_perfmon:
            return {cause, "this process lacks CAP_PERFMON", grant_capability};
        case PerfCause::counters_held:
            return {cause,
                    "no counter is free for the tree: " +
                        std::string(access.nmi_watchdog ? "the NMI watchdog holds one, and another user the others"
                                                        : "another user holds them") +
                        users,
                    access.nmi_watchdog
                        ? "stop other profilers; sudo sysctl kernel.nmi_watchdog=0 frees one (and back to 1 afterwards)"
                        : "sudo lsof | grep perf_event shows who; stop other profilers"};
        case PerfCause::counters_lost:
            return {cause, "another user took the counters while it ran, and nothing was counted" + users,
                    "sudo lsof | grep perf_event shows who; a command is not run a second time for this"};
        case PerfCause::nmi_watchdog:
            return {cause, "the NMI watchdog holds one counter on every CPU",
                    "sudo sysctl kernel.nmi_watchdog=0 (and back to 1 afterwards); with it, more passes are needed"};
        case PerfCause::smt_shared_core:
            return {cause,
                    "SMT is on: before Ice Lake the top-down slots belong to the core, so the sibling thread's work is "
                    "estimated, not counted",
                    "keep the sibling idle, count whole cores (--cpu with both siblings), or: "
                    "echo off | sudo tee /sys/devices/system/cpu/smt/control"};
        case PerfCause::hybrid_migration:
            return {cause, "this CPU has cores of two kinds: a thread that moves is counted partly by each kind's PMU",
                    "bind the work to one kind (--cpu, or taskset); each count's share of the time is shown, never "
                    "extrapolated"};
        default:
            return {cause, {}, {}};
    }
}

}  // namespace tmaprobe::machine
