#pragma once

#include <map>
#include <vector>

#include "machine/topology.h"

namespace tmaprobe::machine {

/// The listed CPUs by the physical core that they belong to (machine::CpuPlace::core).
std::map<int, std::vector<int>> by_core(const machine::Topology& topology, const std::vector<int>& cpus);

/// Online CPUs that share a core with a listed one and are not listed themselves, in order: where slots
/// belong to cores, counting without them counts half of a core.
std::vector<int> missing_siblings(const machine::Topology& topology, const std::vector<int>& cpus);

}  // namespace tmaprobe::machine
