#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tmaprobe::machine {

/// One core PMU as sysfs shows it.
struct Pmu {
    std::string name;                 ///< "cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0", ...
    std::uint32_t type = 0;           ///< perf_event_attr::type
    std::vector<int> cpus;            ///< where it counts; empty: every CPU
    bool has_slots = false;           ///< PERF_METRICS is shown: slots and the level-1 topdown-* events
    bool has_level2_metrics = false;  ///< and topdown-heavy-ops with its siblings
    int rdpmc = -1;                   ///< sysfs rdpmc (0 never, 1 mapped events, 2 always); -1: no such file
    double mux_interval_ms = 0;       ///< how often the kernel rotates groups; 0: not known
};

inline const std::filesystem::path pmu_devices = "/sys/bus/event_source/devices";

/// The core PMUs of this machine, sorted by name; empty when the kernel drives none. `root` is
/// replaced in tests.
std::vector<Pmu> core_pmus(const std::filesystem::path& root = pmu_devices);

/// perf_event_attr::type of any PMU by its sysfs name ("" = the first core PMU, "software").
std::optional<std::uint32_t> pmu_type(const std::string& name, const std::filesystem::path& root = pmu_devices);

/// The architecture's common events (is_common_arm_event) that an Arm PMU implements, as its driver lists them in sysfs
/// by the PMU's own identification registers. Empty for other PMUs, and where nothing is listed. A raw event that is
/// not implemented opens all the same, and counts nothing.
std::set<std::uint64_t> listed_common_events(const Pmu& pmu, const std::filesystem::path& root = pmu_devices);

/// Whether an Arm PMU says of an event with this number if it has it: 0x0 to 0x3f and 0x4000 to 0x403f.
bool is_common_arm_event(std::uint64_t config);

}  // namespace tmaprobe::machine
