#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "base/names.h"

namespace tmaprobe::machine {

/// What keeps perf_event from counting, or from counting well. Their names are stable: they are the ids of warnings and
/// of the lines of `tmaprobe doctor`.
enum class PerfCause {
    no_pmu,        ///< the kernel drives no counters
    no_pmu_in_vm,  ///< nor does the hypervisor offer any
    paranoid,      ///< kernel.perf_event_paranoid
    seccomp,
    not_your_process,
    no_cap_perfmon,
    security_module,
    unsupported_event,
    no_perf_events,  ///< no perf_event_open at all
    cpu_offline,
    counters_taken,  ///< by another user
    too_many_files,
    no_such_process,
    old_kernel,
    no_memory,
    unexpected,
    not_scheduled,  ///< it opened, and was never on a counter
    hollow_pmu,     ///< it counts 0
    counters_held,  ///< all of them, before anything was started
    counters_lost,  ///< all of them, while it ran
    nmi_watchdog,
    smt_shared_core,
    hybrid_migration,
};

}  // namespace tmaprobe::machine

namespace tmaprobe {

template <>
struct Names<machine::PerfCause> {
    using enum machine::PerfCause;
    static constexpr std::array<std::pair<machine::PerfCause, std::string_view>, 23> values{
        {{no_pmu, "no_pmu"},
         {no_pmu_in_vm, "no_pmu_in_vm"},
         {paranoid, "paranoid"},
         {seccomp, "seccomp"},
         {not_your_process, "not_your_process"},
         {no_cap_perfmon, "no_cap_perfmon"},
         {security_module, "security_module"},
         {unsupported_event, "unsupported_event"},
         {no_perf_events, "no_perf_events"},
         {cpu_offline, "cpu_offline"},
         {counters_taken, "counters_taken"},
         {too_many_files, "too_many_files"},
         {no_such_process, "no_such_process"},
         {old_kernel, "old_kernel"},
         {no_memory, "no_memory"},
         {unexpected, "unexpected"},
         {not_scheduled, "not_scheduled"},
         {hollow_pmu, "hollow_pmu"},
         {counters_held, "counters_held"},
         {counters_lost, "counters_lost"},
         {nmi_watchdog, "nmi_watchdog"},
         {smt_shared_core, "smt_shared_core"},
         {hybrid_migration, "hybrid_migration"}}};
};

}  // namespace tmaprobe
