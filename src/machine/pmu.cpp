#include "machine/pmu.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::machine {
namespace {

constexpr int loop_length = 10000;

#if defined(__aarch64__)
constexpr std::uint64_t raw_instructions = 0x08;
#else
constexpr std::uint64_t raw_instructions = 0xc0;  // Intel and AMD alike
#endif

/// Counts the instructions of a short loop with one event.
PmuProbe count_loop(std::uint32_t type, std::uint64_t config) {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
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

}  // namespace

PmuProbe probe_instructions() {
    const auto pmus = core_pmus();
    if (pmus.size() < 2) return count_loop(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    // On a hybrid the kernel's own event means the larger cores alone; this thread may be on any of them. Each PMU
    // is asked for its raw event, since older kernels know no other way to name a PMU.
    PmuProbe probe;
    for (const Pmu& pmu : pmus) {
        probe = count_loop(pmu.type, raw_instructions);
        if (probe.running_ns > 0) break;
    }
    return probe;
}

PmuPresence explain_pmu(const PmuProbe& probe, const PerfAccess& access) {
    const auto because = [](const PerfProblem& problem) {
        return PmuPresence{false, problem.what, problem.hint, problem.cause};
    };
    if (probe.error_number) return because(diagnose(probe.error_number, Asked::hardware, access));
    if (probe.running_ns == 0) return because(problem_of(PerfCause::not_scheduled, access));
    if (probe.value == 0) return because(problem_of(PerfCause::hollow_pmu, access));
    return {true, {}, {}, {}};
}

}  // namespace tmaprobe::machine
