#include "counters/perf/attributes.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "events/key.h"

namespace tmaprobe::counters::perf {
namespace {

/// Arm's driver lets user space read a counter only when the event asked for it: config1, bit 1.
constexpr std::uint64_t arm_user_space_read = 1u << 1;

const machine::Pmu* find_core(const std::string& name, const std::vector<machine::Pmu>& pmus) {
    if (name.empty()) return pmus.empty() ? nullptr : &pmus.front();
    const auto found = std::find_if(pmus.begin(), pmus.end(), [&](const auto& pmu) { return pmu.name == name; });
    return found == pmus.end() ? nullptr : &*found;
}

/// Of the kernel's own kinds of events, and of PMUs that are no core's.
std::optional<std::uint32_t> type_of_kind(const std::string& pmu) {
    if (pmu == "hardware") return PERF_TYPE_HARDWARE;
    if (pmu == "hw_cache") return PERF_TYPE_HW_CACHE;
    if (pmu == "tracepoint") return PERF_TYPE_TRACEPOINT;
    return pmu.empty() ? std::nullopt : machine::pmu_type(pmu);
}

bool arm_allows_user_space_reads(const std::string& pmu) {
    return pmu.rfind("armv", 0) == 0 && read_line("/proc/sys/kernel/perf_user_access") == "1";
}

}  // namespace

bool is_software(const PlannedEvent& event) { return event.definition.pmu == "software"; }

bool is_tracepoint(const PlannedEvent& event) { return event.definition.pmu == "tracepoint"; }

const machine::Pmu* core_of(const PlannedEvent& event, const std::vector<machine::Pmu>& pmus) {
    constexpr int pmu_type_shift = 32;
    const auto& definition = event.definition;
    const bool kernels = definition.pmu == "hardware" || definition.pmu == "hw_cache";
    const auto found = std::ranges::find_if(pmus, [&](const auto& pmu) {
        return pmu.name == definition.pmu || (kernels && pmu.type == definition.config >> pmu_type_shift);
    });
    return found == pmus.end() ? nullptr : &*found;
}

bool needs_kernel(const PlannedEvent& event) {
    return is_software(event) && (event.definition.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                                  event.definition.config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

Result<perf_event_attr> make_attributes(const PlannedEvent& event, const CountingTarget& target, bool is_leader,
                                        const std::vector<machine::Pmu>& pmus) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    const machine::Pmu* core = find_core(event.definition.pmu, pmus);
    if (is_software(event)) {
        attributes.type = PERF_TYPE_SOFTWARE;
    } else if (core) {
        attributes.type = core->type;
    } else {
        const auto type = type_of_kind(event.definition.pmu);
        if (!type)
            return fail(ErrorCode::unavailable, "no PMU '" + event.definition.pmu + "' here for " + event.name,
                        "tmaprobe doctor lists the PMUs of this machine");
        attributes.type = *type;
    }
    attributes.config = event.definition.config;
    attributes.config1 = event.definition.config1;
    attributes.config2 = event.definition.config2;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.disabled = is_leader;
    attributes.enable_on_exec = is_leader && target.start_on_exec;
    const auto has = [&](char modifier) { return event.definition.modifiers.find(modifier) != std::string::npos; };
    attributes.pinned = is_leader && (target.pinned || has('D'));
    attributes.exclusive = is_leader && has('e');
    attributes.exclude_idle = has('I');
    attributes.exclude_guest = has('H') && !has('G');
    attributes.inherit = target.inherit;
    // "EVENT:k" says itself whose instructions it means; software events else count for both.
    std::string privilege = events::privilege_of(event.definition);
    attributes.exclude_host = std::erase(privilege, 'G') > 0;
    const auto counts = [&](char level, bool otherwise) {
        return privilege.empty() ? otherwise : privilege.find(level) != std::string::npos;
    };
    if (is_tracepoint(event)) return attributes;  // they are of the kernel, whoever calls it
    if (!is_software(event) || !privilege.empty()) {
        attributes.exclude_user = !counts('u', target.user);
        attributes.exclude_kernel = !counts('k', target.kernel);
        attributes.exclude_hv = !counts('h', target.kernel);
    }
    if (!is_software(event)) {
        if (core && target.user_space_reads && arm_allows_user_space_reads(core->name))
            attributes.config1 |= arm_user_space_read;
    }
    return attributes;
}

}  // namespace tmaprobe::counters::perf
