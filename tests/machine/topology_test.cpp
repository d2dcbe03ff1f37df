#include "machine/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <set>

namespace tmaprobe::machine {
namespace {

/// hwloc reads a machine from an environment variable while this lives.
class InventedMachine {
  public:
    InventedMachine(const char* variable, const std::string& value) : variable_(variable) {
        setenv(variable, value.c_str(), 1);
    }
    ~InventedMachine() { unsetenv(variable_); }
    InventedMachine(const InventedMachine&) = delete;
    InventedMachine& operator=(const InventedMachine&) = delete;

  private:
    const char* variable_;
};

Topology synthetic(const std::string& description) {
    const InventedMachine machine("HWLOC_SYNTHETIC", description);
    return detect_topology();
}

Topology from_xml(const std::string& name) {
    const InventedMachine machine("HWLOC_XMLFILE",
                                  std::string(TMAPROBE_SOURCE_DIR) + "/tests/machine/topology/" + name);
    return detect_topology();
}

std::set<std::string> classes(const Topology& topology) {
    std::set<std::string> found;
    for (const CpuPlace& one : topology.cpus)
        for (const CpuPlace& other : topology.cpus) found.insert(name_of(pair_class(topology, one.cpu, other.cpu)));
    return found;
}

TEST(Topology, OfTwoSocketsWithHyperthreads) {
    const Topology topology = synthetic("pack:2 [numa] l3:1 l2:4 core:1 pu:2");
    ASSERT_EQ(topology.cpus.size(), 16U);
    EXPECT_EQ(name_of(pair_class(topology, 0, 0)), "same_cpu");
    EXPECT_EQ(name_of(pair_class(topology, 0, 1)), "smt");
    EXPECT_EQ(name_of(pair_class(topology, 0, 2)), "l3");
    EXPECT_EQ(pair_class(topology, 7, 8).shared, Shared::machine);
    EXPECT_EQ(pair_class(topology, 8, 7), pair_class(topology, 7, 8));
    EXPECT_EQ(topology.cpus[15].package, 1);
    EXPECT_EQ(topology.cpus[15].numa_node, 1);
    EXPECT_EQ(default_cpu(topology), 15);
}

TEST(Topology, OfSeveralCcxInOnePackage) {
    const Topology topology = synthetic("pack:1 [numa] l3:4 l2:4 core:1 pu:2");
    ASSERT_EQ(topology.cpus.size(), 32U);
    EXPECT_EQ(classes(topology), (std::set<std::string>{"same_cpu", "smt", "l3", "package"}));
    EXPECT_EQ(name_of(pair_class(topology, 6, 7)), "smt");
    EXPECT_EQ(name_of(pair_class(topology, 0, 6)), "l3");
    EXPECT_EQ(name_of(pair_class(topology, 0, 8)), "package");
    EXPECT_TRUE(topology.numa_distance.empty());
}

TEST(Topology, OfTwoPackagesInOneNodeTellsThemApart) {
    const Topology topology = synthetic("[numa] pack:2 l3:1 l2:2 core:1 pu:1");
    EXPECT_EQ(classes(topology), (std::set<std::string>{"same_cpu", "l3", "two-packages"}));
}

TEST(Topology, OfOneCpu) {
    const Topology topology = synthetic("pack:1 core:1 pu:1");
    ASSERT_EQ(topology.cpus.size(), 1U);
    EXPECT_EQ(topology.cpus[0].l3, -1);
    EXPECT_EQ(default_cpu(topology), 0);
}

TEST(Topology, OfAHybridKnowsItsCoreTypes) {
    const Topology topology = from_xml("hybrid.xml");
    ASSERT_EQ(topology.cpus.size(), 8U);
    EXPECT_EQ(topology.cpus[0].core_type, "P");
    EXPECT_EQ(topology.cpus[7].core_type, "E");
    EXPECT_EQ(name_of(pair_class(topology, 0, 1)), "smt");
    EXPECT_EQ(name_of(pair_class(topology, 4, 7)), "l2");  // four E-cores share one L2
    EXPECT_EQ(name_of(pair_class(topology, 0, 4)), "l3");
    EXPECT_EQ(default_cpu(topology), 3);  // the last P-core's CPU
}

TEST(Topology, KnowsTheDistancesOfNodes) {
    const Topology topology = from_xml("two_hops.xml");
    ASSERT_EQ(topology.cpus.size(), 4U);
    EXPECT_EQ(classes(topology), (std::set<std::string>{"same_cpu", "numa-21", "numa-31"}));
    EXPECT_EQ(name_of(pair_class(topology, 0, 1)), "numa-21");
    EXPECT_EQ(name_of(pair_class(topology, 0, 3)), "numa-31");
}

TEST(Topology, OfAnOfflineThreadKeepsItsSiblingsCoreApart) {
    // CPU 5 is offline, which moves the core of CPU 4 to another level of hwloc's tree.
    const Topology topology = from_xml("offline_thread.xml");
    ASSERT_EQ(topology.cpus.size(), 7U);
    EXPECT_EQ(name_of(pair_class(topology, 0, 1)), "smt");
    EXPECT_EQ(name_of(pair_class(topology, 0, 4)), "numa-21");
    EXPECT_EQ(name_of(pair_class(topology, 4, 6)), "l3");
}

TEST(Topology, WithoutCpusStillGivesOneToRunOn) { EXPECT_GE(default_cpu(Topology{}), 0); }

TEST(Topology, OfThisMachineHasTheCpusThatRunUs) {
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    const Topology topology = detect_topology();
    int allowed = 0;
    for (const CpuPlace& place : topology.cpus) allowed += place.allowed;
    EXPECT_EQ(allowed, CPU_COUNT(&set));
    EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(default_cpu(topology)), &set));
}

TEST(CheckCpu, RefusesWithTheReason) {
    Topology topology = synthetic("pack:1 core:4 pu:1");
    topology.cpus[2].allowed = false;
    EXPECT_TRUE(check_cpu(topology, 1));
    const auto outside = check_cpu(topology, 2);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, ErrorCode::no_permission);
    EXPECT_EQ(outside.error().what, "CPU 2 is outside this process's cpuset");
    EXPECT_EQ(outside.error().hint, "CPUs that this process may use: 0,1,3");
    for (const int cpu : {-1, 99999}) {
        const auto missing = check_cpu(topology, cpu);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error().code, ErrorCode::bad_usage);
    }
}

TEST(Pinning, BindsThisThread) {
    cpu_set_t old;
    ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
    const int cpu = default_cpu(detect_topology());
    ASSERT_TRUE(pin_this_thread(cpu));
    EXPECT_EQ(sched_getcpu(), cpu);
    ASSERT_EQ(sched_setaffinity(0, sizeof old, &old), 0);
}

TEST(Pinning, ToACpuThatIsNotThereIsRefused) {
    for (const int cpu : {-1, 4095, 1 << 20}) {
        const auto pinned = pin_this_thread(cpu);
        ASSERT_FALSE(pinned) << cpu;
        EXPECT_EQ(pinned.error().code, ErrorCode::bad_usage);
        EXPECT_NE(pinned.error().hint.find("CPUs that this process may use"), std::string::npos);
    }
}

}  // namespace
}  // namespace tmaprobe::machine
