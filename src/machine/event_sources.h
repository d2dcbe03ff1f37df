#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::machine {

/// An event of a PMU that is no core's, encoded as the PMU's own files in sysfs say.
struct SourcedEvent {
    std::string pmu;   ///< sysfs name: "power", "uncore_imc_0"
    std::string term;  ///< "energy-pkg"; empty: it was written in fields alone
    std::uint64_t config = 0, config1 = 0, config2 = 0;
    double scale = 1;  ///< of a count, in `unit`
    std::string unit;  ///< as the kernel writes it: "Joules", "MiB"; empty: a count
};

/// The CPUs from which a PMU counts what belongs to a whole package or the machine; empty: it counts tasks, or there is
/// no such PMU.
std::vector<int> system_wide_cpus(const std::string& pmu, const std::filesystem::path& root = pmu_devices);

/// The PMUs, no cores', that a name stands for as in perf: "power", or "uncore_imc" and "imc" for uncore_imc_0,
/// uncore_imc_1, ...; sorted.
std::vector<std::string> pmus_named(const std::string& name, const std::filesystem::path& root = pmu_devices);

/// "energy-pkg" or "event=0x4,umask=0x3" of one PMU. Errors: bad_usage for terms that it does not have, with those that
/// it has.
Result<SourcedEvent> sourced_event(const std::string& pmu, const std::vector<std::string>& terms,
                                   const std::filesystem::path& root = pmu_devices);

/// The number of a tracepoint, "sched" and "sched_switch". Errors: unavailable where the kernel shows none,
/// no_permission where it shows them to others, bad_usage for one that it has not.
Result<std::uint64_t> tracepoint_id(const std::string& system, const std::string& name,
                                    const std::vector<std::filesystem::path>& roots = {
                                        "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"});

/// perf_event_attr::config of PERF_TYPE_HW_CACHE for perf's name of it: "L1-dcache-load-misses", "LLC-loads".
std::optional<std::uint64_t> cache_event(std::string_view name);

}  // namespace tmaprobe::machine
