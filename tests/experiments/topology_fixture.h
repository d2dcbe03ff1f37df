#pragma once

#include "machine/topology.h"

namespace tmaprobe::experiments {

/// `sockets` x `cores` x `threads`; first threads of all cores come first, as Linux often numbers them.
inline machine::Topology machine_of(int sockets, int cores, int threads) {
    machine::Topology topology;
    for (int thread = 0; thread < threads; ++thread)
        for (int core = 0; core < sockets * cores; ++core) {
            machine::CpuPlace place;
            place.cpu = static_cast<int>(topology.cpus.size());
            place.core = place.l2 = core;
            place.l3 = place.package = place.numa_node = core / cores;
            topology.cpus.push_back(place);
        }
    if (sockets == 2) topology.numa_distance = {{10, 21}, {21, 10}};
    return topology;
}

}  // namespace tmaprobe::experiments
