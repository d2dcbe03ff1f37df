#include "machine/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/file.h"
#include "base/sizes.h"
#include "machine/counter_users.h"
#include "machine/features.h"
#include "machine/host_sources.h"
#include "machine/pmu.h"
#include "machine/sysfs.h"

namespace tmaprobe::machine {
namespace {

int read_int(const std::filesystem::path& path, int missing) {
    const std::string text = read_line(path);
    int value = missing;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// The first "key : value" line of /proc/cpuinfo.
std::string cpuinfo_value(const std::filesystem::path& procfs, const std::string& key) {
    const auto text = read_file(procfs / "cpuinfo");
    if (!text) return {};
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, key.size(), key) != 0) continue;
        const auto colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return {};
}

#if defined(__x86_64__)
using TscClock = std::chrono::steady_clock;

/// The counter and the clock at one moment: of a few tries the one that took least, in its middle.
std::pair<std::uint64_t, TscClock::time_point> tsc_now() {
    auto least = TscClock::duration::max();
    std::pair<std::uint64_t, TscClock::time_point> best;
    for (int attempt = 0; attempt < 4; ++attempt) {
        const auto before = TscClock::now();
        const std::uint64_t ticks = __rdtsc();
        const auto took = TscClock::now() - before;
        if (took >= least) continue;
        least = took;
        best = {ticks, before + took / 2};
    }
    return best;
}
#endif

double measured_tsc_hz() {
#if defined(__x86_64__)
    // A quarter of a millisecond, whose ends are known to some 25 ns: better than 1 part in 5000. Every start
    // of the program pays for it.
    const auto [first, begin] = tsc_now();
    while (TscClock::now() - begin < std::chrono::microseconds(250)) {
    }
    const auto [last, end] = tsc_now();
    return static_cast<double>(last - first) / std::chrono::duration<double>(end - begin).count();
#elif defined(__aarch64__)
    std::uint64_t frequency = 0;
    asm("mrs %0, cntfrq_el0" : "=r"(frequency));
    return static_cast<double>(frequency);
#else
    return 0;
#endif
}

bool same_cache(const Cache& one, const Cache& other) { return one.level == other.level && one.kind == other.kind; }

/// CPUID gives the geometry; who shares a cache the kernel knows better, since CPUID counts places
/// for CPUs, not CPUs. A size that differs is noted, and CPUID's is kept.
void join_sysfs(Host& host, const std::vector<Cache>& kernel) {
    if (host.caches.empty()) {
        host.caches = kernel;
        return;
    }
    for (Cache& cache : host.caches) {
        const auto twin =
            std::find_if(kernel.begin(), kernel.end(), [&](const Cache& other) { return same_cache(cache, other); });
        if (twin == kernel.end()) continue;
        cache.shared_by = twin->shared_by;
        if (twin->size_bytes != cache.size_bytes)
            host.notes.push_back(fmt::format("{} says that the L{} {} cache has {}, the kernel says {}", cache.source,
                                             cache.level, cache.kind, format_size(cache.size_bytes),
                                             format_size(twin->size_bytes)));
    }
}

}  // namespace

Host detect(const HostSources& sources) {
    Host host;
    utsname names{};
    uname(&names);
    host.kernel = names.release;
    host.architecture = sources.architecture.empty() ? names.machine : sources.architecture;
    const bool x86 = host.architecture == "x86_64";

    host.cpu_id = x86 ? cpuid_id(sources.cpuid) : sysfs_midr(sources.sysfs);
    host.cpu_model = x86 ? cpuid_brand(sources.cpuid) : std::string();
    if (host.cpu_model.empty()) host.cpu_model = cpuinfo_value(sources.procfs, "model name");
    if (host.cpu_model.empty()) host.cpu_model = host.cpu_id;
    host.hypervisor = x86 ? cpuid_hypervisor(sources.cpuid) : std::string();
    if (host.hypervisor.empty() || host.hypervisor == "unknown") {
        const std::string firmware = sysfs_hypervisor(sources.sysfs, sources.procfs);
        // On x86 the CPU itself says whether there is a hypervisor; firmware names alone do not.
        if (!firmware.empty() && (!x86 || !host.hypervisor.empty() || firmware == "Xen")) host.hypervisor = firmware;
    }
    host.is_emulated = host.hypervisor == software_emulator;

    const auto cpus = sources.sysfs / "devices/system/cpu";
    host.logical_cpus = static_cast<int>(parse_cpu_list(read_line(cpus / "online")).size());
    if (host.logical_cpus == 0) host.logical_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    host.smt_active = read_int(cpus / "smt/active", 0) == 1;

    if (x86) {
        host.tsc_hz = cpuid_tsc_hz(sources.cpuid);
        host.caches = cpuid_caches(sources.cpuid);
        host.tlbs = cpuid_tlbs(sources.cpuid);
        host.cpuid_descriptors = cpuid_descriptors(sources.cpuid);
        host.package_l3_bytes = cpuid_package_l3_bytes(sources.cpuid);
        host.notes = cpuid_contradictions(sources.cpuid);
    }
    if (host.tsc_hz == 0 && sources.measure_tsc_hz) host.tsc_hz = sources.measure_tsc_hz();
    join_sysfs(host, sysfs_caches(sources.sysfs, 0));

    host.perf_event_paranoid = read_int(sources.procfs / "sys/kernel/perf_event_paranoid", -2);
    host.nmi_watchdog = read_int(sources.procfs / "sys/kernel/nmi_watchdog", 0) == 1;
    if (sources.probe_pmu) host.pmu = sources.probe_pmu(host);
    return host;
}

Host detect() {
    HostSources sources;
    sources.measure_tsc_hz = measured_tsc_hz;
    sources.probe_pmu = [](const Host& host) {
        const PmuProbe probe = probe_instructions();
        PerfAccess access = perf_access_of(host);
        if (probe.error_number == 0 && probe.running_ns == 0) access.counter_users = find_counter_users();
        return explain_pmu(probe, access);
    };
    Host host = detect(sources);
    host.features = instruction_set_features();
    return host;
}

bool has_feature(const Host& host, const std::string& feature) {
    return std::find(host.features.begin(), host.features.end(), feature) != host.features.end();
}

}  // namespace tmaprobe::machine
