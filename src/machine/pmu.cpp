#include "machine/pmu.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/fd.h"

namespace tmaprobe::machine {
namespace {

constexpr int loop_length = 10000;

PmuPresence absent(const Host& host) {
    if (host.hypervisor.empty())
        return {false, "the kernel offers no hardware counters on this CPU",
                "check 'dmesg | grep -i pmu': the driver may be missing or the firmware may have disabled the counters"};
    if (host.hypervisor == "VMware")
        return {false, "this virtual machine has no hardware counters (VMware)",
                "enable 'Virtualize CPU performance counters' for this virtual machine, or use --source model"};
    return {false, fmt::format("this virtual machine has no hardware counters ({})", host.hypervisor),
            "use an instance type that passes the PMU through (often the bare-metal or largest sizes), or --source model"};
}

PmuPresence refused(const Host& host) {
    // Level 3 and 4 are Debian's and Ubuntu's own: they refuse every event.
    if (host.perf_event_paranoid >= 3)
        return {false, fmt::format("kernel.perf_event_paranoid is {}: no counters for unprivileged users", host.perf_event_paranoid),
                "sudo sysctl kernel.perf_event_paranoid=2, or run as root"};
    return {false, "the kernel refuses perf_event_open (a security module, seccomp or a container's policy)",
            "in a container, allow the system call perf_event_open (seccomp) or add the capability PERFMON"};
}

}  // namespace

PmuProbe probe_instructions() {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;

    PmuProbe probe;
    const Fd counter(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!counter) {
        probe.error_number = errno;
        return probe;
    }
    for (int turn = 0; turn < loop_length; ++turn) asm volatile("" ::: "memory");
    std::array<std::uint64_t, 3> read_back{};
    if (read(counter.get(), read_back.data(), sizeof read_back) == static_cast<ssize_t>(sizeof read_back)) {
        probe.value = read_back[0];
        probe.running_ns = read_back[2];
    }
    return probe;
}

PmuPresence explain_pmu(const PmuProbe& probe, const Host& host) {
    switch (probe.error_number) {
        case 0:
            break;
        case ENOSYS:
            return {false, "this kernel was built without perf events", "use a kernel with CONFIG_PERF_EVENTS, or --source model"};
        case EACCES:
        case EPERM:
            return refused(host);
        case EMFILE:
        case ENFILE:
            return {false, "no file descriptor is left for a counter", "raise the limit: ulimit -n 4096"};
        case EBUSY:
            return {false, "another program holds the hardware counters for itself alone", "stop the other profiler"};
        default:
            return absent(host);
    }
    if (probe.running_ns == 0)
        return {false, "a hardware counter opens but is never scheduled: others hold all counters",
                host.nmi_watchdog ? "free one: sudo sysctl kernel.nmi_watchdog=0" : "stop other profilers"};
    if (probe.value == 0)
        return {false, "a hardware counter opens but stays at 0: the virtual PMU is not backed by hardware",
                "use another instance type, or --source model"};
    return {true, {}, {}};
}

}  // namespace tmaprobe::machine
