#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/result.h"

namespace tmaprobe::machine {

/// Where one logical CPU sits.
struct CpuPlace {
    int cpu = 0;         ///< logical number, as the kernel counts
    int core = 0;        ///< physical core, unique over the machine
    int l2 = 0, l3 = 0;  ///< which L2 and L3 it uses; -1: none
    int package = 0;
    int numa_node = 0;
    bool allowed = true;    ///< in this process's cpuset
    std::string core_type;  ///< "", or "P" / "E" on hybrid machines
};

/// All online CPUs in order of their number, from hwloc.
struct Topology {
    std::vector<CpuPlace> cpus;
    std::vector<std::vector<int>> numa_distance;  ///< [from][to] as in sysfs; empty: one node
};

/// HWLOC_XMLFILE and HWLOC_SYNTHETIC are honoured, as in any program that uses hwloc. Empty when hwloc
/// cannot load.
Topology detect_topology();

/// Whether this process may run on the CPU. Errors: bad_usage for one that does not exist or is offline,
/// no_permission for one outside the cpuset; the hint names those that can be used.
Result<> check_cpu(const Topology& topology, int cpu);

/// Binds the calling thread to one CPU. Errors: bad_usage for a CPU that does not exist or is offline,
/// no_permission when the cpuset or a policy refuses it.
Result<> pin_this_thread(int cpu);

/// The CPU a single-threaded kernel runs on when the user names none: the last allowed one (the first
/// takes most interrupts).
int default_cpu(const Topology& topology);

/// What two CPUs have in common, nearest first.
enum class Shared {
    nothing_known,
    cpu,   ///< they are one
    core,  ///< two hyperthreads
    l2,
    l3,
    package,
    numa_node,  ///< in two packages, as some guests have it
    machine     ///< each has its own NUMA node
};

/// How far two CPUs are from each other.
struct PairClass {
    Shared shared = Shared::nothing_known;
    std::optional<int> numa_distance{};  ///< of two nodes, where the firmware gives it
    bool operator==(const PairClass&) const = default;
};

PairClass pair_class(const Topology& topology, int first, int second);

/// As people and records write it: "same_cpu", "smt", "l2", "l3", "package", "two-packages", "numa-21" ("numa" without
/// a distance); empty where nothing is known.
std::string name_of(const PairClass& pair);

}  // namespace tmaprobe::machine

namespace tmaprobe {

template <>
struct Names<machine::Shared> {
    using enum machine::Shared;
    static constexpr std::array<std::pair<machine::Shared, std::string_view>, 7> values{{{cpu, "same_cpu"},
                                                                                         {core, "smt"},
                                                                                         {l2, "l2"},
                                                                                         {l3, "l3"},
                                                                                         {package, "package"},
                                                                                         {numa_node, "two-packages"},
                                                                                         {machine, "numa"}}};
};

}  // namespace tmaprobe
