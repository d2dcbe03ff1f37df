#include "experiments/measured_host.h"

#include <sys/utsname.h>

namespace tmaprobe::experiments {

record::MeasuredHost measured_host(const machine::Host& host) {
    utsname names{};
    ::uname(&names);
    record::MeasuredHost measured;
    measured.name = names.nodename;
    measured.cpu_id = host.cpu_id;
    measured.cpu_model = host.cpu_model;
    measured.architecture = host.architecture;
    measured.kernel = host.kernel;
    measured.hypervisor = host.hypervisor;
    measured.logical_cpus = host.logical_cpus;
    measured.smt_active = host.smt_active;
    measured.tsc_hz = host.tsc_hz;
    measured.perf_event_paranoid = host.perf_event_paranoid;
    measured.nmi_watchdog = host.nmi_watchdog;
    measured.package_l3_bytes = host.package_l3_bytes;
    measured.features = host.features;
    measured.notes = host.notes;
    measured.pmu = record::HostPmu{host.pmu.counts, host.pmu.reason};
    for (const auto& cache : host.caches)
        measured.caches.push_back(
            {cache.level, cache.kind, cache.size_bytes, cache.line_bytes, cache.ways, cache.shared_by, cache.source});
    for (const auto& tlb : host.tlbs)
        measured.tlbs.push_back({tlb.level, tlb.kind, tlb.page_bytes, tlb.entries, tlb.ways, tlb.source});
    return measured;
}

}  // namespace tmaprobe::experiments
