#include "experiments/host_json.h"

#include <sys/utsname.h>

#include <nlohmann/json.hpp>

namespace tmaprobe::experiments {

nlohmann::json host_json(const machine::Host& host) {
    utsname names{};
    ::uname(&names);
    nlohmann::json json = {
        {"name", names.nodename},
        {"cpu_id", host.cpu_id},
        {"cpu_model", host.cpu_model},
        {"architecture", host.architecture},
        {"kernel", host.kernel},
        {"hypervisor", host.hypervisor},
        {"logical_cpus", host.logical_cpus},
        {"smt_active", host.smt_active},
        {"tsc_hz", host.tsc_hz},
        {"perf_event_paranoid", host.perf_event_paranoid},
        {"nmi_watchdog", host.nmi_watchdog},
        {"package_l3_bytes", host.package_l3_bytes},
        {"features", host.features},
        {"notes", host.notes},
        {"pmu", {{"counts", host.pmu.counts}, {"reason", host.pmu.reason}}},
        {"caches", nlohmann::json::array()},
        {"tlbs", nlohmann::json::array()},
    };
    for (const auto& cache : host.caches)
        json["caches"].push_back({{"level", cache.level},
                                  {"kind", cache.kind},
                                  {"size_bytes", cache.size_bytes},
                                  {"line_bytes", cache.line_bytes},
                                  {"ways", cache.ways},
                                  {"shared_by", cache.shared_by},
                                  {"source", cache.source}});
    for (const auto& tlb : host.tlbs)
        json["tlbs"].push_back({{"level", tlb.level},
                                {"kind", tlb.kind},
                                {"page_bytes", tlb.page_bytes},
                                {"entries", tlb.entries},
                                {"ways", tlb.ways},
                                {"source", tlb.source}});
    return json;
}

}  // namespace tmaprobe::experiments
