#include "events/libpfm.h"

#include <fmt/format.h>
#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>
#include <cstring>

namespace tmaprobe::events {
namespace {

/// Starts the library once per process. LIBPFM_ENCODE_INACTIVE is its only way to be told that events of
/// other CPUs are wanted; it is read while starting.
bool started() {
    static const bool success = [] {
        const char* before = std::getenv("LIBPFM_ENCODE_INACTIVE");
        const std::string saved = before ? before : "";
        ::setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
        const bool good = pfm_initialize() == PFM_SUCCESS;
        if (before)
            ::setenv("LIBPFM_ENCODE_INACTIVE", saved.c_str(), 1);
        else
            ::unsetenv("LIBPFM_ENCODE_INACTIVE");
        return good;
    }();
    return success;
}

/// Whether the encoding is one for a core's PMU, or a software event.
bool is_of_core(int index, const perf_event_attr& attributes) {
    if (attributes.type == PERF_TYPE_SOFTWARE) return true;
    pfm_event_info_t event{};
    event.size = sizeof event;
    pfm_pmu_info_t pmu{};
    pmu.size = sizeof pmu;
    if (attributes.type != PERF_TYPE_RAW || pfm_get_event_info(index, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS ||
        pfm_get_pmu_info(event.pmu, &pmu) != PFM_SUCCESS)
        return false;
    return pmu.type == PFM_PMU_TYPE_CORE || std::strcmp(pmu.name, "perf_raw") == 0;
}

}  // namespace

Result<EventDefinition> encode_with_libpfm(const std::string& event) {
    if (!started()) return fail(ErrorCode::unavailable, "libpfm4 does not start");
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    char* full_name = nullptr;
    pfm_perf_encode_arg_t arguments{};
    arguments.attr = &attributes;
    arguments.fstr = &full_name;
    arguments.size = sizeof arguments;
    const int status = pfm_get_os_event_encoding(event.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arguments);
    const std::string name = full_name ? full_name : event;
    std::free(full_name);
    if (status != PFM_SUCCESS)
        return fail(ErrorCode::bad_usage, fmt::format("libpfm4 does not know '{}': {}", event, pfm_strerror(status)));
    // Its generic and uncore names mean other PMUs, on which the same number counts something else.
    if (!is_of_core(arguments.idx, attributes))
        return fail(ErrorCode::bad_usage, fmt::format("'{}' is not an event of a core PMU", event),
                    "the kernel's own names go without a prefix: cycles, instructions, page-faults");
    EventDefinition definition;
    definition.name = name;
    definition.config = attributes.config;
    definition.config1 = attributes.config1;
    definition.config2 = attributes.config2;
    if (attributes.exclude_user != attributes.exclude_kernel)
        definition.modifiers.push_back(attributes.exclude_kernel ? 'u' : 'k');
    if (attributes.type == PERF_TYPE_SOFTWARE) definition.pmu = "software";
    return definition;
}

bool libpfm_has_pmu(const std::string& pmu) {
    if (!started()) return false;
    for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
        pfm_pmu_info_t info{};
        info.size = sizeof info;
        if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(i), &info) == PFM_SUCCESS && info.name && pmu == info.name)
            return true;
    }
    return false;
}

}  // namespace tmaprobe::events
