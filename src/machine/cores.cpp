#include "machine/cores.h"

#include <algorithm>

namespace tmaprobe::machine {

std::map<int, std::vector<int>> by_core(const machine::Topology& topology, const std::vector<int>& cpus) {
    std::map<int, std::vector<int>> cores;
    for (const auto& place : topology.cpus)
        if (std::ranges::find(cpus, place.cpu) != cpus.end()) cores[place.core].push_back(place.cpu);
    return cores;
}

std::vector<int> missing_siblings(const machine::Topology& topology, const std::vector<int>& cpus) {
    const auto cores = by_core(topology, cpus);
    std::vector<int> missing;
    for (const auto& place : topology.cpus)
        if (cores.contains(place.core) && std::ranges::find(cpus, place.cpu) == cpus.end())
            missing.push_back(place.cpu);
    return missing;
}

}  // namespace tmaprobe::machine
