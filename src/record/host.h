#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tmaprobe::record {

/// One cache as one CPU sees it.
struct HostCache {
    int level = 0;
    std::string kind;  ///< "data", "instruction" or "unified"
    std::uint64_t size_bytes = 0;
    int line_bytes = 0, ways = 0, shared_by = 0;  ///< 0: not known
    std::string source;
};

/// One translation buffer for one page size.
struct HostTlb {
    int level = 0;
    std::string kind;  ///< "data", "store", "instruction" or "unified"
    std::uint64_t page_bytes = 0;
    int entries = 0, ways = 0;  ///< ways: 0 not known, -1 fully associative
    std::string source;
};

struct HostPmu {
    bool counts = false;
    std::string reason;  ///< why it does not
};

/// The machine that ran the tool. Texts are empty and numbers 0 where it did not tell.
struct MeasuredHost {
    std::string name;
    std::string cpu_id, cpu_model, architecture, kernel;
    std::optional<std::string> hypervisor;  ///< empty text: bare metal; nothing: not known
    int logical_cpus = 0;
    bool smt_active = false;
    double tsc_hz = 0;
    std::optional<int> perf_event_paranoid;
    bool nmi_watchdog = false;
    std::uint64_t package_l3_bytes = 0;
    std::vector<std::string> features, notes;
    std::optional<HostPmu> pmu;
    std::vector<HostCache> caches;
    std::vector<HostTlb> tlbs;
};

}  // namespace tmaprobe::record
