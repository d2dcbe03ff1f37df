#include "machine/host.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "machine/host_sources.h"
#include "machine/pmu.h"
#include "machine/sysfs.h"
#include "tests/machine/recorded_cpuid_fake.h"

namespace tmaprobe::machine {
namespace {

/// A folder that stands for / and goes away with the test.
class Tree {
  public:
    Tree() : root_(std::filesystem::temp_directory_path() / "tmaprobe-host-XXXXXX") {
        std::string name = root_;
        if (::mkdtemp(name.data())) root_ = name;
    }
    ~Tree() { std::filesystem::remove_all(root_); }
    void put(const std::string& path, const std::string& content) const {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << content;
    }
    HostSources sources() const {
        HostSources sources;
        sources.sysfs = root_ / "sys";
        sources.procfs = root_ / "proc";
        return sources;
    }

  private:
    std::filesystem::path root_;
};

void put_cache(const Tree& tree, int index, int level, const std::string& type, const std::string& size,
               const std::string& shared) {
    const std::string folder = "sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    tree.put(folder + "level", std::to_string(level) + "\n");
    tree.put(folder + "type", type + "\n");
    tree.put(folder + "size", size + "\n");
    tree.put(folder + "coherency_line_size", "64\n");
    tree.put(folder + "ways_of_associativity", "4\n");
    tree.put(folder + "shared_cpu_list", shared + "\n");
}

TEST(Host, OfAnX86GuestIsReadFromCpuidAndTheKernel) {
    const Tree tree;
    tree.put("sys/devices/system/cpu/online", "0-1\n");
    tree.put("sys/devices/system/cpu/smt/active", "1\n");
    tree.put("proc/sys/kernel/perf_event_paranoid", "4\n");
    tree.put("proc/sys/kernel/nmi_watchdog", "1\n");
    put_cache(tree, 0, 1, "Data", "32K", "0-1");
    put_cache(tree, 1, 3, "Unified", "36608K", "0-1");
    HostSources sources = tree.sources();
    sources.cpuid = recorded_cpuid("cascade_lake_kvm");
    sources.architecture = "x86_64";
    sources.measure_tsc_hz = [] { return 2.5e9; };
    const Host host = detect(sources);
    EXPECT_EQ(host.cpu_id, "GenuineIntel-6-55-7");
    EXPECT_EQ(host.cpu_model, "GenuineIntel-6-55-7");  // nothing better is known
    EXPECT_EQ(host.hypervisor, "KVM");
    EXPECT_EQ(host.logical_cpus, 2);
    EXPECT_TRUE(host.smt_active);
    EXPECT_EQ(host.perf_event_paranoid, 4);
    EXPECT_TRUE(host.nmi_watchdog);
    EXPECT_DOUBLE_EQ(host.tsc_hz, 2.5e9);
    ASSERT_EQ(host.caches.size(), 4U);
    EXPECT_EQ(host.caches[0].shared_by, 2);  // the kernel's, CPUID alone says 2 places as well
    EXPECT_EQ(host.cpuid_descriptors.size(), 4U);
    EXPECT_EQ(host.notes.size(), 1U);  // the L2 of 80000006h
    EXPECT_FALSE(host.pmu.counts);
}

TEST(Host, NotesACacheThatTheKernelSeesOtherwise) {
    const Tree tree;
    put_cache(tree, 0, 3, "Unified", "8M", "0-3");
    HostSources sources = tree.sources();
    sources.cpuid = recorded_cpuid("zen2_epyc_7742");
    sources.architecture = "x86_64";
    const Host host = detect(sources);
    ASSERT_EQ(host.notes.size(), 1U);
    EXPECT_EQ(host.notes[0], "cpuid 8000001Dh says that the L3 unified cache has 16M, the kernel says 8M");
    EXPECT_EQ(host.caches[3].shared_by, 4);
    EXPECT_EQ(host.package_l3_bytes, std::uint64_t{256} << 20);
}

TEST(Host, OfAnArmServerIsReadFromSysfs) {
    const Tree tree;
    tree.put("sys/devices/system/cpu/online", "0-63\n");
    tree.put("sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000413fd0c1\n");
    tree.put("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    tree.put("sys/class/dmi/id/product_name", "m6g.large\n");
    put_cache(tree, 0, 1, "Data", "64K", "0");
    put_cache(tree, 1, 1, "Instruction", "64K", "0");
    put_cache(tree, 2, 2, "Unified", "1024K", "0");
    HostSources sources = tree.sources();
    sources.cpuid = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
    sources.architecture = "aarch64";
    const Host host = detect(sources);
    EXPECT_EQ(host.cpu_id, "0x00000000410fd0c0");
    EXPECT_EQ(host.hypervisor, "KVM");
    EXPECT_EQ(host.logical_cpus, 64);
    ASSERT_EQ(host.caches.size(), 3U);
    EXPECT_EQ(host.caches[2].size_bytes, std::uint64_t{1} << 20);
    EXPECT_EQ(host.caches[2].source, "sysfs");
    EXPECT_TRUE(host.tlbs.empty());
    EXPECT_EQ(host.perf_event_paranoid, -2);
}

TEST(Host, OnAmazonsBareMetalHasNoHypervisor) {
    const Tree tree;
    tree.put("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    tree.put("sys/class/dmi/id/product_name", "m6g.metal\n");
    HostSources sources = tree.sources();
    sources.architecture = "aarch64";
    EXPECT_EQ(detect(sources).hypervisor, "");
}

TEST(Host, OnAnEmptyTreeIsStillAHost) {
    const Tree tree;
    HostSources sources = tree.sources();
    sources.cpuid = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
    sources.architecture = "x86_64";
    const Host host = detect(sources);
    EXPECT_EQ(host.cpu_id, "");
    EXPECT_GE(host.logical_cpus, 1);
    EXPECT_TRUE(host.caches.empty());
}

TEST(Host, OfThisMachineIsWhole) {
    const Host host = detect();
    EXPECT_FALSE(host.cpu_id.empty());
    EXPECT_FALSE(host.kernel.empty());
    EXPECT_GT(host.tsc_hz, 1e6);
    EXPECT_NE(host.pmu.counts, !host.pmu.reason.empty());
}

struct PmuCase {
    const char* name;
    PmuProbe probe;
    int paranoid;
    const char* hypervisor;
    const char* in_reason;
    const char* in_hint;
};

class Pmu : public testing::TestWithParam<PmuCase> {};

TEST_P(Pmu, AbsenceIsExplained) {
    PerfAccess access;
    access.paranoid = GetParam().paranoid;
    access.hypervisor = GetParam().hypervisor;
    access.seccomp = GetParam().probe.error_number == EPERM;
    const PmuPresence presence = explain_pmu(GetParam().probe, access);
    EXPECT_FALSE(presence.counts);
    EXPECT_NE(presence.reason.find(GetParam().in_reason), std::string::npos) << presence.reason;
    EXPECT_NE(presence.hint.find(GetParam().in_hint), std::string::npos) << presence.hint;
}

INSTANTIATE_TEST_SUITE_P(
    Causes, Pmu,
    testing::Values(
        PmuCase{"guest", {ENOENT, 0, 0}, 2, "KVM", "virtual machine has no hardware counters (KVM)", "--source model"},
        PmuCase{"vmware", {ENOENT, 0, 0}, 2, "VMware", "VMware", "Virtualize CPU performance counters"},
        PmuCase{"driver", {ENOENT, 0, 0}, 2, "", "no hardware counters on this CPU", "dmesg"},
        PmuCase{"paranoid", {EACCES, 0, 0}, 4, "", "perf_event_paranoid is 4", "sysctl"},
        PmuCase{"seccomp", {EPERM, 0, 0}, 2, "", "refuses perf_event_open", "seccomp"},
        PmuCase{"kernel", {ENOSYS, 0, 0}, -2, "", "no perf_event_open", "CONFIG_PERF_EVENTS"},
        PmuCase{"exclusive", {EBUSY, 0, 0}, 2, "", "holds the counters", "profilers"},
        PmuCase{"starved", {0, 0, 0}, 2, "", "never on a counter", "profilers"},
        PmuCase{"hollow", {0, 0, 1000}, 2, "KVM", "stays at 0", "--source model"}),
    [](const auto& info) { return info.param.name; });

TEST(Pmu, ThatCountsNeedsNoReason) {
    const PmuPresence presence = explain_pmu({0, 12345, 1000}, {});
    EXPECT_TRUE(presence.counts);
    EXPECT_EQ(presence.reason, "");
}

TEST(CpuList, IsReadAsTheKernelWritesIt) {
    EXPECT_EQ(parse_cpu_list("0-3,8,10-11"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
    EXPECT_EQ(parse_cpu_list(""), std::vector<int>{});
    EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
    EXPECT_EQ(parse_cpu_list("1,x"), std::vector<int>{1});
    EXPECT_EQ(parse_cpu_list("-3"), std::vector<int>{});
    EXPECT_LE(parse_cpu_list("0-2000000000").size(), std::size_t{1} << 17);
}

}  // namespace
}  // namespace tmaprobe::machine
