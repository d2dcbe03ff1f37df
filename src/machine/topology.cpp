#include "machine/topology.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/file.h"
#include "machine/sysfs.h"

namespace tmaprobe::machine {
namespace {

struct Destroy {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
    void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using TopologyHandle = std::unique_ptr<hwloc_topology, Destroy>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Destroy>;

TopologyHandle load() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return nullptr;
    TopologyHandle topology(raw);
    // CPUs outside the cpuset stay in, so that asking for one can be refused with the right reason.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3ICACHE})
        hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_NONE);
    // hwloc's x86 backend moves this thread to every CPU in turn, to ask each one's CPUID: on a busy machine that
    // takes longer than all else at start-up, and the kernel says the same in sysfs.
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(raw) != 0) return nullptr;
    return topology;
}

/// Numbers the cores, caches or packages above CPUs in the order in which they are met. hwloc's own logical index
/// counts within one level of its tree, and objects of one type stand on two levels where one thread of a core is
/// offline: two of them would have the same number.
class Numbers {
  public:
    Numbers(hwloc_topology_t topology, hwloc_obj_type_t type) : topology_(topology), type_(type) {}
    /// `missing` where nothing of that type is above the CPU.
    int above(hwloc_obj_t unit, int missing) {
        const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology_, type_, unit);
        return found ? numbers_.try_emplace(found->gp_index, static_cast<int>(numbers_.size())).first->second : missing;
    }

  private:
    hwloc_topology_t topology_;
    hwloc_obj_type_t type_;
    std::map<std::uint64_t, int> numbers_;
};

/// "P" or "E" of a hybrid machine; hwloc takes it from CPUID leaf 1Ah or the kernel's PMU masks.
std::string core_type(hwloc_topology_t topology, hwloc_obj_t unit) {
    if (hwloc_cpukinds_get_nr(topology, 0) < 2) return {};
    const int kind = hwloc_cpukinds_get_by_cpuset(topology, unit->cpuset, 0);
    if (kind < 0) return {};
    unsigned count = 0;
    hwloc_info_s* infos = nullptr;
    int efficiency = -1;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), nullptr, &efficiency, &count, &infos, 0) != 0)
        return {};
    for (unsigned index = 0; index < count; ++index) {
        const std::string value = infos[index].value;
        if (std::string(infos[index].name) != "CoreType") continue;
        if (value == "IntelAtom") return "E";
        if (value == "IntelCore") return "P";
    }
    if (efficiency < 0) return {};
    return efficiency + 1 == hwloc_cpukinds_get_nr(topology, 0) ? "P" : "E";
}

std::vector<std::vector<int>> numa_distances(hwloc_topology_t topology) {
    unsigned count = 1;
    hwloc_distances_s* found = nullptr;
    if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &found, 0) != 0 || count == 0 || !found) return {};
    std::vector<std::vector<int>> distances(found->nbobjs, std::vector<int>(found->nbobjs));
    for (unsigned from = 0; from < found->nbobjs; ++from)
        for (unsigned to = 0; to < found->nbobjs; ++to)
            distances[from][to] = static_cast<int>(found->values[from * found->nbobjs + to]);
    hwloc_distances_release(topology, found);
    return distances;
}

/// Logical index of the node in whose local CPUs the unit is.
int node_of(hwloc_topology_t topology, hwloc_obj_t unit) {
    for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
        if (node->cpuset && hwloc_bitmap_isincluded(unit->cpuset, node->cpuset))
            return static_cast<int>(node->logical_index);
    return 0;
}

const CpuPlace* place_of(const Topology& topology, int cpu) {
    const auto found = std::find_if(topology.cpus.begin(), topology.cpus.end(),
                                    [&](const CpuPlace& place) { return place.cpu == cpu; });
    return found == topology.cpus.end() ? nullptr : &*found;
}

}  // namespace

Topology detect_topology() {
    Topology result;
    const TopologyHandle handle = load();
    if (!handle) return result;
    hwloc_topology_t topology = handle.get();
    const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    // The cgroup is in hwloc's allowed set; a taskset of this process is not.
    const Bitmap bound(hwloc_bitmap_alloc());
    const bool knows_binding =
        hwloc_topology_is_thissystem(topology) && hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_PROCESS) == 0;
    Numbers cores(topology, HWLOC_OBJ_CORE), l2_caches(topology, HWLOC_OBJ_L2CACHE),
        l3_caches(topology, HWLOC_OBJ_L3CACHE), packages(topology, HWLOC_OBJ_PACKAGE);
    for (hwloc_obj_t unit = nullptr; (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit));) {
        CpuPlace place;
        place.cpu = static_cast<int>(unit->os_index);
        place.core = cores.above(unit, static_cast<int>(unit->logical_index));
        place.l2 = l2_caches.above(unit, -1);
        place.l3 = l3_caches.above(unit, -1);
        place.package = packages.above(unit, 0);
        place.numa_node = node_of(topology, unit);
        place.allowed = hwloc_bitmap_isset(allowed, unit->os_index) &&
                        (!knows_binding || hwloc_bitmap_isset(bound.get(), unit->os_index));
        place.core_type = core_type(topology, unit);
        result.cpus.push_back(place);
    }
    std::sort(result.cpus.begin(), result.cpus.end(),
              [](const CpuPlace& one, const CpuPlace& other) { return one.cpu < other.cpu; });
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) > 1) result.numa_distance = numa_distances(topology);
    return result;
}

Result<> check_cpu(const Topology& topology, int cpu) {
    const CpuPlace* place = place_of(topology, cpu);
    if (place && place->allowed) return {};
    std::string usable;
    for (const CpuPlace& candidate : topology.cpus)
        if (candidate.allowed) usable += (usable.empty() ? "" : ",") + std::to_string(candidate.cpu);
    const std::string hint = "CPUs that this process may use: " + usable;
    if (place) return fail(ErrorCode::no_permission, fmt::format("CPU {} is outside this process's cpuset", cpu), hint);
    const auto folder = std::filesystem::path("/sys/devices/system/cpu") / fmt::format("cpu{}", cpu);
    if (cpu >= 0 && read_line(folder / "online") == "0")
        return fail(ErrorCode::bad_usage, fmt::format("CPU {} is offline", cpu),
                    fmt::format("bring it online: echo 1 | sudo tee {}/online", folder.string()));
    return fail(ErrorCode::bad_usage, fmt::format("there is no CPU {}", cpu), hint);
}

Result<> pin_this_thread(int cpu) {
    if (cpu >= 0) {
        const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
        const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpu + 1),
                                                                   [](cpu_set_t* freed) { CPU_FREE(freed); });
        if (!set) return fail(ErrorCode::bad_usage, fmt::format("there is no CPU {}", cpu));
        CPU_ZERO_S(bytes, set.get());
        CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
        if (sched_setaffinity(0, bytes, set.get()) == 0) return {};
        if (errno != EINVAL)
            return fail_errno(errno, fmt::format("cannot bind to CPU {}", cpu),
                              "a security policy refuses sched_setaffinity");
    }
    // The kernel's EINVAL does not say which of the reasons it was.
    if (auto reason = check_cpu(detect_topology(), cpu); !reason) return reason;
    return fail(ErrorCode::no_permission, fmt::format("the kernel refuses to bind to CPU {}", cpu),
                "the cpuset or container may exclude it");
}

int default_cpu(const Topology& topology) {
    int chosen = -1;
    for (const CpuPlace& place : topology.cpus)
        if (place.allowed && place.core_type != "E") chosen = place.cpu;
    if (chosen >= 0) return chosen;
    for (const CpuPlace& place : topology.cpus)
        if (place.allowed) chosen = place.cpu;
    return chosen >= 0 ? chosen : std::max(0, sched_getcpu());
}

PairClass pair_class(const Topology& topology, int first, int second) {
    if (first == second) return {Shared::cpu};
    const CpuPlace* one = place_of(topology, first);
    const CpuPlace* other = place_of(topology, second);
    if (!one || !other) return {};
    if (one->core == other->core) return {Shared::core};
    if (one->l2 >= 0 && one->l2 == other->l2) return {Shared::l2};
    if (one->l3 >= 0 && one->l3 == other->l3) return {Shared::l3};
    if (one->numa_node == other->numa_node)
        return {one->package == other->package ? Shared::package : Shared::numa_node};
    const auto from = static_cast<std::size_t>(one->numa_node), to = static_cast<std::size_t>(other->numa_node);
    const bool known = from < topology.numa_distance.size() && to < topology.numa_distance[from].size();
    return {Shared::machine, known ? std::optional(topology.numa_distance[from][to]) : std::nullopt};
}

std::string name_of(const PairClass& pair) {
    const std::string name(tmaprobe::name_of(pair.shared));
    return pair.numa_distance ? fmt::format("{}-{}", name, *pair.numa_distance) : name;
}

}  // namespace tmaprobe::machine
