#include "machine/cores.h"

#include <gtest/gtest.h>

namespace tmaprobe::machine {
namespace {

/// Two cores of two CPUs each.
Topology four_cpus() {
    Topology topology;
    for (int cpu = 0; cpu < 4; ++cpu) {
        CpuPlace place;
        place.cpu = cpu;
        place.core = cpu / 2;
        topology.cpus.push_back(place);
    }
    return topology;
}

TEST(Cores, CpusAreGroupedByCore) {
    EXPECT_EQ(by_core(four_cpus(), {0, 2, 3}), (std::map<int, std::vector<int>>{{0, {0}}, {1, {2, 3}}}));
}

TEST(Cores, SiblingsThatAreNotListedAreMissing) {
    EXPECT_EQ(missing_siblings(four_cpus(), {0, 2, 3}), std::vector<int>{1});
    EXPECT_TRUE(missing_siblings(four_cpus(), {2, 3}).empty());
    EXPECT_TRUE(missing_siblings(four_cpus(), {}).empty());
}

}  // namespace
}  // namespace tmaprobe::machine
