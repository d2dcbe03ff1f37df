#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "machine/cpuid.h"

namespace tmaprobe::machine {

/// All that detect asks of the outside.
struct HostSources {
    CpuidReader cpuid = native_cpuid();
    std::filesystem::path sysfs = "/sys";
    std::filesystem::path procfs = "/proc";
    std::string architecture;  ///< as uname gives it; empty: asked
    /// Hertz of the time-stamp counter by comparing it with the clock; empty: not measured.
    std::function<double()> measure_tsc_hz;
    /// Opens a counter and sees it count; empty: not tried.
    std::function<PmuPresence(const Host&)> probe_pmu;
};

}  // namespace tmaprobe::machine
