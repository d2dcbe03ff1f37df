#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/perf_cause.h"

namespace tmaprobe::machine {

/// One cache as one CPU sees it.
struct Cache {
    int level = 0;
    std::string kind;  ///< "data", "instruction" or "unified"
    std::uint64_t size_bytes = 0;
    int line_bytes = 64;
    int ways = 0;        ///< 0: not known
    int shared_by = 1;   ///< logical CPUs that share it
    std::string source;  ///< where the figure comes from: "cpuid 4", "sysfs", ...
};

/// One translation buffer for one page size. Reach = entries x page_bytes.
struct Tlb {
    int level = 0;
    std::string kind;  ///< "data" (loads), "store", "instruction" or "unified"
    std::uint64_t page_bytes = 0;
    int entries = 0;
    int ways = 0;        ///< 0: not known; -1: fully associative
    std::string source;  ///< "cpuid 2", "cpuid 18h", "cpuid 80000006h", "table", ...
};

/// Whether a hardware PMU counts for us here, and if not, why.
struct PmuPresence {
    bool counts = false;
    std::string reason;  ///< one line, empty when it counts
    std::string hint;    ///< the remedy
    std::optional<PerfCause>
        cause{};  ///< nothing: it counts, or what keeps it from counting is not the kernel's matter
};

/// The computer as it is found; nothing here is changed by looking.
struct Host {
    std::string cpu_id;        ///< as perf spells it: "GenuineIntel-6-8F-8", or a MIDR "0x00000000410fd490"
    std::string cpu_model;     ///< the marketing name, as the CPU or the kernel gives it
    std::string architecture;  ///< "x86_64" or "aarch64"
    std::string kernel;        ///< uname -r
    std::string hypervisor;    ///< "KVM", "VMware", ...; empty on bare metal
    bool is_emulated = false;  ///< software executes its instructions: no clock tells anything about a CPU
    int logical_cpus = 0;
    bool smt_active = false;
    double tsc_hz = 0;  ///< 0: not known
    std::vector<Cache> caches;
    std::vector<Tlb> tlbs;
    std::vector<std::uint8_t> cpuid_descriptors;  ///< leaf 2, whose meaning a table gives; empty elsewhere
    int load_bytes = 0;  ///< widest load that the core does in one piece, from the table of its CPU; 0: not known
    int memory_vector_bytes =
        0;  ///< vectors that move most bytes between core and memory, from the same table; 0: not known
    int reorder_buffer = 0;                ///< entries, from the same table; 0: not known
    bool last_level_least_recent = false;  ///< what makes room there was used longest ago, by the tables
    std::uint64_t package_l3_bytes = 0;    ///< all L3 of one package, where CPUID says it; 0: not known
    std::vector<std::string> notes;        ///< where sources contradict each other, one sentence each
    int perf_event_paranoid = -2;          ///< -2: no perf_event at all
    bool nmi_watchdog = false;
    PmuPresence pmu;
    std::vector<std::string> features;  ///< instruction set extensions that kernels ask for: "sha_ni", "avx2", ...
};

/// Where detect looks; tests put recorded values and a made-up tree there.
struct HostSources;

/// Looks at this machine: CPUID and sysfs, hwloc for the topology, one probing perf_event_open.
/// Never fails: what cannot be found stays empty or 0.
Host detect();
Host detect(const HostSources& sources);

/// True when the host has the named instruction set extension (names as in Host::features).
bool has_feature(const Host& host, const std::string& feature);

}  // namespace tmaprobe::machine
