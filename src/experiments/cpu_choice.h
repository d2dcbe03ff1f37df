#pragma once

#include <string>
#include <vector>

#include "machine/host.h"
#include "machine/topology.h"
#include "timing/canary.h"

namespace tmaprobe::experiments {

/// What one CPU looks like before anything is measured on it.
struct CpuLook {
    int cpu = 0;
    bool looked = false;            ///< this process could run there
    double busy_share = 0;          ///< of the time before, for others (/proc/stat)
    timing::CanaryReading reading;  ///< of the canary on it
};

/// The CPUs in the order in which they should be used: those whose core nobody else uses first, then those that were
/// idle. CPUs that hardly differ keep the order in which they are given.
std::vector<int> quietest_first(std::vector<CpuLook> looks, const timing::CanaryLimits& limits);

/// Looks at these CPUs, some 50 ms in all and a few more for each; the calling thread may run where it might before.
std::vector<CpuLook> look_at_cpus(const std::vector<int>& cpus, const machine::Host& host);

/// "CPU 0 is used: CPU 1 is busy 97% of the time"; empty where `chosen` is the first of the looks or nothing was seen.
std::string why_chosen(int chosen, const std::vector<CpuLook>& looks, const timing::CanaryLimits& limits);

}  // namespace tmaprobe::experiments
