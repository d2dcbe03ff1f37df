#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "machine/host.h"

namespace tmaprobe::machine {

/// Caches of one CPU as `<sysfs>/devices/system/cpu/cpu<cpu>/cache` gives them; empty when it does not.
std::vector<Cache> sysfs_caches(const std::filesystem::path& sysfs, int cpu);

/// The main id register without variant and revision, as perf compares it: "0x00000000410fd490";
/// empty where there is none (x86, old kernels).
std::string sysfs_midr(const std::filesystem::path& sysfs);

/// The hypervisor as firmware tables and the kernel name it; empty when they name none.
std::string sysfs_hypervisor(const std::filesystem::path& sysfs, const std::filesystem::path& procfs);

/// Reads "0-3,8,10-11". Anything that is no such list ends it.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace tmaprobe::machine
