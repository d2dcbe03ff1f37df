#include "experiments/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/sizes.h"
#include "metrics/cpuid.h"

namespace tmaprobe::experiments {
namespace {

using State = Check::State;

Check from_problem(State state, const machine::PerfProblem& problem) {
    return {state, text_of(problem.cause), problem.what, problem.hint};
}

Check check_perf_events(const Environment& around) {
    if (around.software_error == 0)
        return {State::ok, "perf_events", "perf_event_open works: software events count", {}};
    return from_problem(State::blocks,
                        machine::diagnose(around.software_error, machine::Asked::software, around.access));
}

std::string limits_text(const counters::PmuLimits& limits) {
    std::string text = fmt::format("{}: {} general-purpose counters free", limits.pmu, limits.general_counters);
    if (limits.fixed_counters > 0) {
        const int free = limits.fixed_counters - static_cast<int>(limits.fixed_taken.size());
        text += fmt::format(", {} of {} fixed ones free", free, limits.fixed_counters);
    }
    return text;
}

/// Whether hardware events count, and how many at once.
std::vector<Check> check_pmu(const Environment& around) {
    const auto& host = around.host;
    if (!host.pmu.counts) {
        const std::string id = host.pmu.cause ? text_of(*host.pmu.cause) : "no_counters";
        return {{State::blocks, id, host.pmu.reason, host.pmu.hint}};
    }
    std::vector<Check> checks;
    for (const auto& limits : around.limits) {
        // The watchdog's one counter has a line of its own.
        if (limits.taken_counters > (around.access.nmi_watchdog ? 1 : 0)) {
            const auto taken = machine::diagnose(EBUSY, machine::Asked::hardware, around.access);
            checks.push_back({State::warning, text_of(taken.cause),
                              fmt::format("{}; another user holds {}", limits_text(limits), limits.taken_counters),
                              taken.hint});
            continue;
        }
        checks.push_back({State::ok, "pmu", limits_text(limits), {}});
    }
    if (checks.empty()) checks.push_back({State::ok, "pmu", "hardware events count", {}});
    return checks;
}

Check check_paranoid(const Environment& around) {
    const auto cause = machine::problem_of(machine::PerfCause::paranoid, around.access);
    if (around.access.paranoid == -2) return {State::note, "paranoid", "kernel.perf_event_paranoid is not there", {}};
    if (around.access.cap_perfmon)
        return {State::ok,
                "paranoid",
                fmt::format("kernel.perf_event_paranoid is {}, and this process may pass it (CAP_PERFMON)",
                            around.access.paranoid),
                {}};
    const State state = around.access.paranoid > 2   ? State::blocks
                        : around.access.paranoid > 1 ? State::note
                                                     : State::ok;
    return {state, text_of(cause.cause), cause.what, state == State::ok ? "" : cause.hint};
}

Check check_sandbox(const Environment& around) {
    if (around.access.seccomp)
        return {
            around.software_error ? State::blocks : State::note, "seccomp",
            fmt::format("a seccomp filter is active{}",
                        around.access.container.empty() ? "" : " in this " + around.access.container + " container"),
            around.software_error ? machine::diagnose(EPERM, machine::Asked::software, around.access).hint
                                  : "it lets perf_event_open through"};
    if (!around.access.container.empty())
        return {State::note, "container", "this is a " + around.access.container + " container",
                around.access.cap_perfmon ? "" : "docker run --cap-add PERFMON ... allows more"};
    return {State::ok, "seccomp", "no seccomp filter and no container in the way", {}};
}

Check check_watchdog(const Environment& around) {
    if (!around.access.nmi_watchdog) return {State::ok, "nmi_watchdog", "the NMI watchdog holds no counter", {}};
    const auto cause = machine::problem_of(machine::PerfCause::nmi_watchdog, around.access);
    return from_problem(around.pmus.empty() ? State::note : State::warning, cause);
}

Check check_mediated_vpmu(const Environment& around) {
    if (!around.mediated_vpmu) return {State::ok, "mediated_vpmu", "no virtual machine takes the counters", {}};
    return {
        State::note, "mediated_vpmu",
        "KVM lends the counters to virtual machines while they run: what runs in them is not counted from here, and "
        "while something that includes them is counted, a virtual machine with counters does not start (EBUSY)",
        "count inside the virtual machine; or load kvm_intel or kvm_amd with enable_mediated_pmu=0"};
}

Check check_perf_metrics(const Environment& around) {
    const char* hint = "a hypervisor may offer it (QEMU: -cpu host with a recent KVM)";
    if (std::ranges::none_of(around.pmus, &machine::Pmu::has_slots))
        return {State::note, "perf_metrics", "PERF_METRICS is hidden: formulas on ordinary counters stand in", hint};
    if (std::ranges::any_of(around.limits, &counters::PmuLimits::has_slots))
        return {State::ok, "perf_metrics", "PERF_METRICS is there (slots, topdown-*)", {}};
    return {State::note, "perf_metrics",
            "sysfs shows PERF_METRICS, but its slots do not count: the hypervisor has none, or another user holds them",
            hint};
}

std::string words_of_stand_in(const std::string& core) {
    return core.empty() ? "" : "; for the model " + core + " stands in, the nearest core: a guess";
}

std::vector<Check> check_cpu(const Environment& around) {
    std::vector<Check> checks;
    const auto& host = around.host;
    if (around.event_table.empty())
        checks.push_back(
            {State::warning, "event_table",
             "no event table for this CPU (" + host.cpu_id + ")" + words_of_stand_in(around.stand_in),
             "name one that is alike with --target (tmaprobe list targets), or bring a table with --events"});
    else if (!around.contradicted.empty())
        checks.push_back({State::warning, "event_table",
                          host.cpu_id + " is " + around.event_table + ", but its features are those of " +
                              around.contradicted + ", which is modelled",
                          "a hypervisor may show another model number: --target names the core"});
    else
        checks.push_back({State::ok, "event_table", host.cpu_id + " is " + around.event_table, {}});

    if (!around.pmus.empty() && around.wants_perf_metrics) checks.push_back(check_perf_metrics(around));
    if (around.pmus.size() > 1)
        checks.push_back(
            from_problem(State::note, machine::problem_of(machine::PerfCause::hybrid_migration, around.access)));
    if (host.smt_active && around.shares_core_slots && !around.pmus.empty())
        checks.push_back(
            from_problem(State::warning, machine::problem_of(machine::PerfCause::smt_shared_core, around.access)));
    if (!around.offline_cpus.empty())
        checks.push_back(
            {State::note, "offline_cpus", fmt::format("CPUs {} are offline", fmt::join(around.offline_cpus, ",")),
             fmt::format("echo 1 | sudo tee /sys/devices/system/cpu/cpu{}/online", around.offline_cpus.front())});
    return checks;
}

/// Reading counters without a system call.
std::vector<Check> check_user_space_reads(const Environment& around) {
    if (around.pmus.empty()) return {};
    if (around.host.architecture == "aarch64")
        return {around.arm_user_access
                    ? Check{State::ok, "user_space_reads", "counters can be read from user space", {}}
                    : Check{State::note, "user_space_reads", "counters are read by system calls",
                            "sudo sysctl kernel.perf_user_access=1 makes start and stop cheaper"}};
    const bool never =
        std::any_of(around.pmus.begin(), around.pmus.end(), [](const auto& pmu) { return pmu.rdpmc == 0; });
    if (!never) return {{State::ok, "user_space_reads", "counters can be read from user space (rdpmc)", {}}};
    return {{State::note, "user_space_reads", "rdpmc is switched off: counters are read by system calls",
             fmt::format("echo 1 | sudo tee /sys/bus/event_source/devices/{}/rdpmc", around.pmus.front().name)}};
}

std::vector<Check> check_limits(const Environment& around) {
    std::vector<Check> checks;
    constexpr long enough = 1024;
    if (around.access.fd_limit < enough)
        checks.push_back({State::warning, "too_many_files",
                          fmt::format("only {} open files are allowed; each event needs one per thread or CPU",
                                      around.access.fd_limit),
                          "sudo prlimit --pid $$ --nofile=65536"});
    else
        checks.push_back(
            {State::ok, "open_files", fmt::format("{} open files are allowed", around.access.fd_limit), {}});
    checks.push_back({State::ok, "perf_program", "the perf program is not needed", {}});
    return checks;
}

/// What this version of Linux is known to get wrong on this machine.
std::vector<Check> check_kernel(const Environment& around) {
    std::vector<Check> checks;
    const auto& version = around.access.kernel_version;
    const std::map<std::string, bool> has = {{"pmu", !around.pmus.empty()},
                                             {"perf_metrics", !around.pmus.empty() && around.wants_perf_metrics},
                                             {"virtual_machine", !around.host.hypervisor.empty()}};
    for (const auto& bug : around.kernel_bugs) {
        const bool here =
            std::ranges::all_of(bug.needs, [&](const auto& need) { return has.contains(need) && has.at(need); });
        const bool applies = here && (bug.cpus.empty() || metrics::cpuid_matches(bug.cpus, around.host.cpu_id));
        if (!applies || !events::has_bug(version, bug)) continue;
        checks.push_back({bug.spoils_counts ? State::warning : State::note, bug.id,
                          fmt::format("Linux {}: {}", fmt::join(version, "."), bug.what), bug.hint});
    }
    if (checks.empty())
        checks.push_back({State::ok,
                          "kernel_bugs",
                          version == machine::KernelVersion{}
                              ? "the version of Linux is not known, nor are its bugs"
                              : fmt::format("no bug of Linux {} in counting is known", fmt::join(version, ".")),
                          {}});
    return checks;
}

Check check_calibration(const Environment& around) {
    if (!around.calibration_problem.empty())
        return {State::warning, "calibration", around.calibration_problem, "tmaprobe calibrate writes a new one"};
    if (!around.calibrated.empty())
        return {State::ok, "calibration", "the model is calibrated for this CPU (" + around.calibrated + ")", {}};
    return {State::note, "calibration", "the model has the tables' figures: this CPU was not calibrated",
            "tmaprobe calibrate measures it by the clock"};
}

Check check_model(const Environment& around) {
    if (around.model_built && around.tracing)
        return {State::warning, "model", "the model is built in, but cannot run: " + around.tracing->what,
                around.tracing->hint};
    if (around.model_built)
        return {State::ok, "model", "the model is built in: --source model works without counters", {}};
    return {State::warning, "model", "this build has no model (LLVM 19 was missing when it was configured)",
            "third_party/setup.sh, then configure and build again"};
}

std::vector<Check> check_pages(const Environment& around) {
    std::vector<Check> checks;
    for (const auto& [bytes, pages] : around.huge_pages) {
        const std::string size = format_size(bytes);
        // Enough to begin with, and no more than small machines have.
        const std::uint64_t enough = std::max<std::uint64_t>(1, (std::uint64_t{128} << 20) / bytes);
        const std::string reserve =
            fmt::format("echo {} | sudo tee /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages", enough, bytes >> 10);
        if (pages.free > 0)
            checks.push_back({State::ok,
                              "huge_pages_" + size,
                              fmt::format("{} of {} reserved {} pages are free", pages.free, pages.total, size),
                              {}});
        else
            checks.push_back({State::note, "huge_pages_" + size,
                              pages.total ? fmt::format("all {} reserved {} pages are in use", pages.total, size)
                                          : fmt::format("no {} pages are reserved", size),
                              reserve});
    }
    if (around.huge_pages.empty())
        checks.push_back({State::note, "huge_pages", "this kernel has no reserved huge pages",
                          "use a kernel with CONFIG_HUGETLBFS=y"});
    const std::string& mode = around.transparent_huge_pages;
    if (mode.empty() || mode == "never")
        checks.push_back({State::note, "transparent_huge_pages",
                          mode.empty() ? "this kernel has no transparent huge pages" : "transparent huge pages are off",
                          mode.empty() ? "" : "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
    else
        checks.push_back({State::ok, "transparent_huge_pages", "transparent huge pages: " + mode, {}});
    return checks;
}

/// "L2 unified 2048 x 4k, 2048 x 2m (cpuid 80000006h)", a line for each level, kind and origin.
std::vector<Check> check_tlbs(const Environment& around) {
    std::vector<Check> checks;
    std::map<std::tuple<int, std::string, std::string>, std::string> found;
    for (const machine::Tlb& tlb : around.tlbs) {
        std::string& entries = found[{tlb.level, tlb.kind, tlb.source}];
        entries += fmt::format("{}{} x {}", entries.empty() ? "" : ", ", tlb.entries, format_size(tlb.page_bytes));
    }
    for (const auto& [which, entries] : found) {
        const auto& [level, kind, source] = which;
        const std::string id = fmt::format("tlb_l{}_{}", level, kind);
        checks.push_back({State::ok, id, fmt::format("TLB, level {}, {}: {} ({})", level, kind, entries, source), {}});
    }
    if (checks.empty())
        checks.push_back({State::note, "tlb", "neither the CPU nor a table says how many entries its TLBs have",
                          "sweeps predict no knee of a TLB's reach; docs/add-a-cpu.md says what a table needs"});
    return checks;
}

Check check_resctrl(const Environment& around) {
    if (!around.resctrl_leftovers.empty())
        return {State::warning, "resctrl",
                fmt::format("resctrl is mounted; killed runs left {} group(s): {}", around.resctrl_leftovers.size(),
                            fmt::join(around.resctrl_leftovers, ", ")),
                "sudo tmaprobe interference --clean-up"};
    if (around.resctrl_mounted) return {State::ok, "resctrl", "resctrl is mounted", {}};
    if (around.resctrl_known)
        return {State::note, "resctrl", "resctrl is not mounted: no cache or bandwidth partitions",
                "sudo mount -t resctrl resctrl /sys/fs/resctrl"};
    return {State::note, "resctrl", "this kernel or CPU has no resctrl: no cache or bandwidth partitions",
            around.host.hypervisor.empty() ? "" : "virtual machines rarely offer it; bare metal may"};
}

}  // namespace

std::string state_name(State state) {
    switch (state) {
        case State::ok:
            return "ok";
        case State::note:
            return "note";
        case State::warning:
            return "warning";
        case State::blocks:
            return "blocks";
    }
    return {};
}

std::vector<Check> check(const Environment& around) {
    std::vector<Check> checks;
    const auto add = [&](std::vector<Check> more) { checks.insert(checks.end(), more.begin(), more.end()); };
    add({check_perf_events(around)});
    add(check_pmu(around));
    add({check_paranoid(around), check_sandbox(around), check_watchdog(around)});
    if (!around.pmus.empty()) add({check_mediated_vpmu(around)});
    add(check_cpu(around));
    add(check_user_space_reads(around));
    add(check_limits(around));
    add(check_kernel(around));
    add({check_model(around)});
    if (around.model_built) add({check_calibration(around)});
    add(check_tlbs(around));
    add(check_pages(around));
    add({check_resctrl(around)});
    // One cause may stand in the way of several things; it is said once.
    std::vector<Check> distinct;
    for (auto& check : checks)
        if (std::none_of(distinct.begin(), distinct.end(),
                         [&](const Check& said) { return said.id == check.id && said.what == check.what; }))
            distinct.push_back(std::move(check));
    return distinct;
}

std::vector<Check> check_all(const machine::Host& host) { return check(look_around(host)); }

}  // namespace tmaprobe::experiments
