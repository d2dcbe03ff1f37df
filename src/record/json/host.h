// How the machine stands in JSON.
#pragma once

#include "base/json/fields.h"
#include "record/host.h"

namespace tmaprobe::json {

template <>
struct Description<record::HostCache> {
    using T = record::HostCache;
    static constexpr std::string_view name = "cache", meaning = "One cache as one CPU sees it";
    static constexpr auto fields = std::make_tuple(
        added("level", &T::level, "1 is nearest to the core"), added("kind", &T::kind, "data, instruction or unified"),
        added("size_bytes", &T::size_bytes, "Bytes"),
        added("line_bytes", &T::line_bytes, "Bytes of a line; 0: not known"),
        added("ways", &T::ways, "Associativity; 0: not known"),
        added("shared_by", &T::shared_by, "Logical CPUs that share it; 0: not known"),
        added("source", &T::source, "Where the figures come from: cpuid 4, sysfs, ..."));
};

template <>
struct Description<record::HostTlb> {
    using T = record::HostTlb;
    static constexpr std::string_view name = "tlb", meaning = "One translation buffer for one page size";
    static constexpr auto fields = std::make_tuple(
        added("level", &T::level, "1 is nearest to the core"),
        added("kind", &T::kind, "data, store, instruction or unified"),
        added("page_bytes", &T::page_bytes, "Size of the pages whose translations it holds"),
        added("entries", &T::entries, "How many"), added("ways", &T::ways, "Associativity; 0: not known, -1: full"),
        added("source", &T::source, "Where the figures come from: cpuid 18h, table, ..."));
};

template <>
struct Description<record::HostPmu> {
    using T = record::HostPmu;
    static constexpr std::string_view name = "host_pmu", meaning = "Whether a hardware PMU counts";
    static constexpr auto fields = std::make_tuple(field("counts", &T::counts, "It does"),
                                                   field("reason", &T::reason, "Why it does not; else empty"));
};

template <>
struct Description<record::MeasuredHost> {
    using T = record::MeasuredHost;
    static constexpr std::string_view name = "host", meaning = "The machine that ran the tool";
    static constexpr auto fields = std::make_tuple(
        added("name", &T::name, "Its name in the network"),
        field("cpu_id", &T::cpu_id, "As perf spells it: GenuineIntel-6-8F-8, or a MIDR").or_null(),
        field("cpu_model", &T::cpu_model, "The marketing name").or_null(),
        added("architecture", &T::architecture, "x86_64 or aarch64"), field("kernel", &T::kernel, "uname -r").or_null(),
        field("hypervisor", &T::hypervisor, "Empty on bare metal; null: not known"),
        field("logical_cpus", &T::logical_cpus, "CPUs that are online").at_least(0).or_null(),
        added("smt_active", &T::smt_active, "Whether cores run two threads and more"),
        added("tsc_hz", &T::tsc_hz, "Of the time stamp counter, in Hz; 0: not known"),
        field("perf_event_paranoid", &T::perf_event_paranoid,
              "kernel.perf_event_paranoid; -2: no perf_event at all; null: not known"),
        added("nmi_watchdog", &T::nmi_watchdog, "Whether the kernel's watchdog takes a counter"),
        added("package_l3_bytes", &T::package_l3_bytes, "All L3 of one package; 0: not known"),
        added("features", &T::features, "Instruction set extensions that kernels ask for"),
        added("notes", &T::notes, "Where sources contradict each other, one sentence each"),
        optional("pmu", &T::pmu, "Whether a hardware PMU counts here"),
        field("caches", &T::caches, "Caches of one CPU"), field("tlbs", &T::tlbs, "Translation buffers of one CPU"));
};

}  // namespace tmaprobe::json
