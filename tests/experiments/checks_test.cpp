#include "experiments/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace tmaprobe::experiments {
namespace {

using State = Check::State;

/// A bare-metal machine where everything counts.
Environment good() {
    Environment around;
    around.host.cpu_id = "GenuineIntel-6-8F-8";
    around.host.architecture = "x86_64";
    around.host.pmu = {true, {}, {}};
    around.access = {1, false, false, "", "", "6.1.0-18-amd64", true, false, 65536};
    around.pmus = {{"cpu", 4, {}, true, true, 1, 4}};
    counters::PmuLimits limits;
    limits.general_counters = 8;
    limits.fixed_counters = 3;
    limits.has_slots = true;
    around.limits = {limits};
    around.event_table = "Sapphire Rapids (sapphirerapids)";
    around.wants_perf_metrics = true;
    around.model_built = true;
    around.tlbs = {{1, "data", 4096, 64, 4, "cpuid 18h"},
                   {1, "data", 2 << 20, 32, 4, "cpuid 18h"},
                   {2, "unified", 4096, 2048, 16, "table"}};
    around.calibrated = "2026-01-31T12:00:00Z";
    around.huge_pages = {{2 << 20, {64, 60}}};
    around.transparent_huge_pages = "madvise";
    around.resctrl_known = around.resctrl_mounted = true;
    return around;
}

const Check* find(const std::vector<Check>& checks, const std::string& id) {
    const auto found = std::find_if(checks.begin(), checks.end(), [&](const auto& check) { return check.id == id; });
    return found == checks.end() ? nullptr : &*found;
}

bool blocks(const std::vector<Check>& checks) {
    return std::any_of(checks.begin(), checks.end(), [](const auto& check) { return check.state == State::blocks; });
}

TEST(Checks, GoodMachineIsAllRight) {
    for (const auto& check : check(good())) EXPECT_EQ(check.state, State::ok) << check.id << ": " << check.what;
}

TEST(Checks, EntriesOfEachTlbAreSaidWithTheirOrigin) {
    std::vector<std::string> said;
    for (const auto& one : check(good()))
        if (one.id.starts_with("tlb")) said.push_back(one.what);
    EXPECT_EQ(said, (std::vector<std::string>{"TLB, level 1, data: 64 x 4K, 32 x 2M (cpuid 18h)",
                                              "TLB, level 2, unified: 2048 x 4K (table)"}));
    auto unknown = good();
    unknown.tlbs.clear();
    const auto checks = check(unknown);
    EXPECT_TRUE(std::ranges::any_of(checks, [](const Check& one) { return one.id == "tlb"; }));
}

TEST(Checks, GroupsOfKilledRunsAreNamedWithTheirRemedy) {
    auto around = good();
    around.resctrl_leftovers = {"tmaprobe-77-victim", "tmaprobe-77-neighbour"};
    const auto checks = check(around);
    const auto* resctrl = find(checks, "resctrl");
    ASSERT_NE(resctrl, nullptr);
    EXPECT_EQ(resctrl->state, State::warning);
    EXPECT_NE(resctrl->what.find("tmaprobe-77-victim, tmaprobe-77-neighbour"), std::string::npos) << resctrl->what;
    EXPECT_NE(resctrl->hint.find("--clean-up"), std::string::npos);
    EXPECT_FALSE(blocks(checks));
}

TEST(Checks, EveryProblemHasARemedy) {
    auto around = good();
    around.host.pmu = {false, "no counters", "a remedy"};
    around.access.paranoid = 4;
    around.access.nmi_watchdog = true;
    around.software_error = EACCES;
    around.event_table = "";
    around.pmus[0].rdpmc = 0;
    around.mediated_vpmu = true;
    around.pmus.push_back({"cpu_atom", 8, {4, 5}, false, false, 1, 4});
    around.host.smt_active = around.shares_core_slots = true;
    around.access.fd_limit = 100;
    around.access.kernel = "6.4.0";
    around.model_built = false;
    around.huge_pages = {{2 << 20, {0, 0}}, {1 << 30, {4, 0}}};
    around.transparent_huge_pages = "never";
    around.resctrl_mounted = false;
    around.offline_cpus = {3};
    int problems = 0;
    for (const auto& check : check(around)) {
        if (check.state == State::ok) continue;
        ++problems;
        EXPECT_FALSE(check.what.empty()) << check.id;
        EXPECT_FALSE(check.hint.empty()) << check.id << ": " << check.what;
    }
    EXPECT_GE(problems, 14);
}

TEST(Checks, VirtualMachineWithoutPmuBlocks) {
    auto around = good();
    around.access.hypervisor = "KVM";
    around.access.core_pmu = false;
    const auto cause = machine::problem_of(machine::PerfCause::no_pmu, around.access);
    around.host.pmu = {false, cause.what, cause.hint, cause.cause};
    around.pmus.clear();
    around.limits.clear();
    const auto checks = check(around);
    ASSERT_NE(find(checks, "no_pmu_in_vm"), nullptr);
    EXPECT_EQ(find(checks, "no_pmu_in_vm")->state, State::blocks);
    EXPECT_NE(find(checks, "no_pmu_in_vm")->hint.find("--source model"), std::string::npos);
}

/// What the line is called follows from the cause, however that is worded.
TEST(Checks, ACauseIsNoWording) {
    auto around = good();
    around.host.pmu = {false, "words of another day", "a remedy", machine::PerfCause::hollow_pmu};
    const auto checks = check(around);
    ASSERT_NE(find(checks, "hollow_pmu"), nullptr);
    EXPECT_EQ(find(checks, "hollow_pmu")->what, "words of another day");
    around.host.pmu.cause.reset();
    EXPECT_NE(find(check(around), "no_counters"), nullptr);
}

TEST(Checks, ParanoidLevels) {
    for (const auto& [level, state] : std::vector<std::pair<int, State>>{{-1, State::ok},
                                                                         {0, State::ok},
                                                                         {1, State::ok},
                                                                         {2, State::note},
                                                                         {3, State::blocks},
                                                                         {4, State::blocks}}) {
        auto around = good();
        around.access.paranoid = level;
        const auto checks = check(around);
        ASSERT_NE(find(checks, "paranoid"), nullptr);
        EXPECT_EQ(find(checks, "paranoid")->state, state) << level;
        around.access.cap_perfmon = true;
        EXPECT_FALSE(blocks(check(around))) << level;
    }
}

TEST(Checks, OneCauseIsSaidOnce) {
    auto around = good();
    around.access.paranoid = 3;
    around.software_error = EACCES;
    const auto cause = machine::problem_of(machine::PerfCause::paranoid, around.access);
    around.host.pmu = {false, cause.what, cause.hint, cause.cause};
    const auto checks = check(around);
    EXPECT_EQ(std::count_if(checks.begin(), checks.end(), [](const auto& one) { return one.state == State::blocks; }),
              1);
}

TEST(Checks, WatchdogIsAWarningWithACommand) {
    auto around = good();
    around.access.nmi_watchdog = true;
    const auto checks = check(around);
    EXPECT_EQ(find(checks, "nmi_watchdog")->state, State::warning);
    EXPECT_NE(find(checks, "nmi_watchdog")->hint.find("kernel.nmi_watchdog=0"), std::string::npos);
    EXPECT_FALSE(blocks(checks));
}

TEST(Checks, AllCountersTakenIsSaid) {
    auto around = good();
    around.limits[0].taken_counters = around.limits[0].general_counters;
    around.limits[0].general_counters = 0;
    const auto checks = check(around);
    ASSERT_NE(find(checks, "counters_taken"), nullptr);
    EXPECT_EQ(find(checks, "counters_taken")->state, State::warning);
}

TEST(Checks, OneCounterTakenIsSaidUnlessItIsTheWatchdogs) {
    auto around = good();
    around.limits[0].taken_counters = 1;
    const auto checks = check(around);
    ASSERT_NE(find(checks, "counters_taken"), nullptr);
    EXPECT_NE(find(checks, "counters_taken")->what.find("another user holds 1"), std::string::npos);
    around.access.nmi_watchdog = true;
    EXPECT_EQ(find(check(around), "counters_taken"), nullptr);
}

TEST(Checks, LookingAroundNeverFails) {
    const auto checks = check_all(machine::detect());
    EXPECT_GT(checks.size(), 8u);
}

struct ErrnoCase {
    int error;
    machine::Asked asked;
    machine::PerfAccess access;
    const char* id;
    bool permission;
};

machine::PerfAccess access(int paranoid, bool pmu = true, bool capable = false) {
    machine::PerfAccess made;
    made.paranoid = paranoid;
    made.core_pmu = pmu;
    made.cap_perfmon = capable;
    return made;
}

machine::PerfAccess sandboxed() {
    auto made = access(1);
    made.seccomp = true;
    made.container = "docker";
    return made;
}

machine::PerfAccess contained() {
    auto made = access(1);
    made.container = "podman";
    return made;
}

TEST(Causes, ErrnoBecomesItsCause) {
    using machine::Asked;
    const auto vm = [] {
        auto made = access(2, false);
        made.hypervisor = "KVM";
        return made;
    }();
    for (const auto& test :
         std::vector<ErrnoCase>{{ENOENT, Asked::hardware, vm, "no_pmu_in_vm", false},
                                {ENOENT, Asked::hardware, access(2, false), "no_pmu", false},
                                {EOPNOTSUPP, Asked::hardware, vm, "no_pmu_in_vm", false},
                                {ENXIO, Asked::hardware, vm, "no_pmu_in_vm", false},
                                {ENODEV, Asked::hardware, vm, "no_pmu_in_vm", false},
                                {ENOENT, Asked::hardware, access(2), "unsupported_event", false},
                                {ENOENT, Asked::software, vm, "unsupported_event", false},
                                {EINVAL, Asked::hardware, access(2), "unsupported_event", false},
                                {EACCES, Asked::hardware, access(3), "paranoid", true},
                                {EACCES, Asked::hardware, access(4), "paranoid", true},
                                {EACCES, Asked::with_kernel, access(2), "paranoid", true},
                                {EACCES, Asked::system_wide, access(1), "paranoid", true},
                                {EACCES, Asked::hardware, access(2), "security_module", true},
                                {EPERM, Asked::hardware, access(4, true, true), "security_module", true},
                                {EPERM, Asked::hardware, sandboxed(), "seccomp", true},
                                {EACCES, Asked::system_wide, contained(), "paranoid", true},
                                {EACCES, Asked::hardware, contained(), "no_cap_perfmon", true},
                                {EACCES, Asked::other_process, access(1), "not_your_process", true},
                                {ENODEV, Asked::system_wide, access(0), "cpu_offline", false},
                                {EBUSY, Asked::hardware, access(2), "counters_taken", false},
                                {ENOSPC, Asked::hardware, access(2), "counters_taken", false},
                                {EMFILE, Asked::hardware, access(2), "too_many_files", false},
                                {ENFILE, Asked::hardware, access(2), "too_many_files", false},
                                {ENOSYS, Asked::software, access(-2), "no_perf_events", false},
                                {ESRCH, Asked::other_process, access(1), "no_such_process", false},
                                {E2BIG, Asked::hardware, access(2), "old_kernel", false},
                                {ENOMEM, Asked::hardware, access(2), "no_memory", false},
                                {EIO, Asked::hardware, access(2), "unexpected", false}}) {
        const auto cause = machine::diagnose(test.error, test.asked, test.access);
        EXPECT_EQ(name_of(cause.cause), test.id) << "errno " << test.error;
        EXPECT_EQ(cause.permission, test.permission) << test.id;
        EXPECT_FALSE(cause.what.empty());
        EXPECT_FALSE(cause.hint.empty()) << test.id;
    }
}

TEST(Causes, NamesTheLevelThatWouldDo) {
    const auto wide = machine::diagnose(EACCES, machine::Asked::system_wide, access(2));
    EXPECT_NE(wide.hint.find("perf_event_paranoid=0"), std::string::npos) << wide.hint;
    const auto kernel = machine::diagnose(EACCES, machine::Asked::with_kernel, access(2));
    EXPECT_NE(kernel.hint.find("perf_event_paranoid=1"), std::string::npos) << kernel.hint;
    const auto user = machine::diagnose(EACCES, machine::Asked::hardware, access(4));
    EXPECT_NE(user.hint.find("perf_event_paranoid=2"), std::string::npos) << user.hint;
}

TEST(Checks, PerfMetricsThatAreOnlyShownAreSaid) {
    auto around = good();
    EXPECT_EQ(find(check(around), "perf_metrics")->state, State::ok);
    around.limits.front().has_slots = false;
    const auto checks = check(around);
    EXPECT_EQ(find(checks, "perf_metrics")->state, State::note);
    EXPECT_NE(find(checks, "perf_metrics")->what.find("do not count"), std::string::npos);
    around.pmus.front().has_slots = false;
    EXPECT_NE(find(check(around), "perf_metrics")->what.find("hidden"), std::string::npos);
}

TEST(Checks, EachKnownBugOfTheKernelIsSaidWhereItMatters) {
    struct Machine {
        machine::KernelVersion version;
        std::string cpu, hypervisor;
        const char* bug;
        State state;
    };
    for (const Machine& test : {Machine{{5, 18, 0}, "GenuineIntel-6-8F-8", "", "kernel_topdown_bug", State::note},
                                {{6, 6, 50}, "GenuineIntel-6-8F-8", "KVM", "kernel_hidden_topdown", State::note},
                                {{6, 12, 22}, "GenuineIntel-6-3F-2", "", "kernel_counting_refused", State::warning},
                                {{6, 12, 22}, "GenuineIntel-6-8F-8", "", "kernel_child_time", State::note},
                                {{6, 1, 20}, "GenuineIntel-6-8F-8", "", "kernel_context_time", State::note},
                                {{6, 17, 1}, "GenuineIntel-6-8F-8", "", "kernel_cpu_clock", State::note}}) {
        auto around = good();
        around.kernel_bugs = *events::kernel_bugs({});
        around.access.kernel_version = test.version;
        around.host.cpu_id = test.cpu;
        around.host.hypervisor = test.hypervisor;
        const auto said = check(around);
        const auto* bug = find(said, test.bug);
        ASSERT_NE(bug, nullptr) << test.bug;
        EXPECT_EQ(bug->state, test.state) << test.bug;
        EXPECT_FALSE(bug->hint.empty()) << test.bug;
        around.access.kernel_version = {6, 18, 0};
        const auto after = check(around);
        EXPECT_EQ(find(after, test.bug), nullptr) << test.bug;
        EXPECT_NE(find(after, "kernel_bugs"), nullptr);
    }
}

TEST(Checks, BugsThatDoNotConcernTheMachineAreNotSaid) {
    auto around = good();
    around.kernel_bugs = *events::kernel_bugs({});
    around.access.kernel_version = {6, 12, 22};
    EXPECT_EQ(find(check(around), "kernel_counting_refused"), nullptr) << "Sapphire Rapids counts";
    EXPECT_EQ(find(check(around), "kernel_hidden_topdown"), nullptr) << "no virtual machine";
    around.pmus.clear();
    EXPECT_EQ(find(check(around), "kernel_child_time"), nullptr) << "no PMU";
}

}  // namespace
}  // namespace tmaprobe::experiments
