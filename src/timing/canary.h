#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "machine/host.h"
#include "timing/reorder_probe.h"
#include "timing/timing.h"

namespace tmaprobe::timing {

/// One look at the CPU that the calling thread runs on, of about a millisecond.
struct CanaryReading {
    /// Core clock, as a program gets it: a chain of dependent additions does one a cycle, and what interrupts and a
    /// hypervisor take for microseconds at a time is no time of it.
    double clock_hz = 0;
    double ipc = 0;      ///< additions per core cycle of a loop with four independent chains
    double overlap = 0;  ///< see measure_overlap: 1 with a whole reorder buffer, 2 with half of one; 0: not tested
    std::uint64_t steal_ns = 0;  ///< taken by the hypervisor since boot, this CPU (/proc/stat, 10 ms steps)
    std::uint64_t wait_ns = 0;   ///< this thread waited for the CPU since its start (schedstat)
};

/// The loops and files of this machine. The chain of single additions does not see a stranger on the
/// sibling hyperthread; the four chains do, since they need all of the core's adders. A stranger that uses
/// none of them is seen by the `probe` of the reorder buffer, where one is given.
CanaryReading read_canary(ReorderProbe* probe = nullptr);

/// What is still clean.
struct CanaryLimits {
    double expected_ipc = 0;     ///< of the four chains on this core when alone; 0: learnt from the readings
    double least_share = 0.8;    ///< of the expected or best IPC
    double clock_change = 0.05;  ///< relative, between before and after
    double waited_share = 0.01;  ///< of the time between before and after
};

/// Cores with AVX2 add at least four integers a cycle (AMD's family 15h apart); others are learnt.
CanaryLimits canary_limits(const machine::Host& host);

/// Judges what happened between two readings that are `elapsed_ns` apart; `best_ipc` is the highest IPC
/// seen so far. The clock given is the mean of both. Of several causes the one that takes most comes first: stolen
/// time, waiting, a shared core, the clock.
Conditions judge(const CanaryReading& before, const CanaryReading& after, double elapsed_ns, double best_ipc,
                 const CanaryLimits& limits);

/// A bracket for repetitions on this host. Empty where the loops mean nothing: under an emulator. A
/// reading that ends one repetition begins the next if that follows at once.
Bracket canary_bracket(const machine::Host& host);

/// Processor time and waiting of each thread come from the kernel's schedstat.
/// As `inner`, and disturbed as well when one of the kernel's other threads waited for its CPU or the
/// hypervisor took one of these CPUs away: a partner that is not there makes a shared line seem fast or
/// very slow. No threads: `inner` itself.
Bracket watch_threads(Bracket inner, const std::vector<pid_t>& threads, const std::vector<int>& cpus = {},
                      const CanaryLimits& limits = {});

/// The same with another way to read and another clock (nanoseconds), for tests.
Bracket canary_bracket(std::function<CanaryReading()> read, std::function<double()> now_ns, const CanaryLimits& limits);

}  // namespace tmaprobe::timing
