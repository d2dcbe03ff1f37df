#include "experiments/cores.h"

#include <gtest/gtest.h>

#include "counters/source.h"
#include "experiments/setup.h"

namespace tmaprobe::experiments {
namespace {

/// Two cores of two CPUs each.
machine::Topology four_cpus() {
    machine::Topology topology;
    for (int cpu = 0; cpu < 4; ++cpu) {
        machine::CpuPlace place;
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

TEST(Cores, FormulasAreThoseOfWholeCoresOnlyWhereTheseAreCounted) {
    machine::Host host;
    host.smt_active = true;
    const auto core_wide = [&](counters::Scope::Kind kind, std::vector<int> cpus) {
        return machine_constants(host, four_cpus(), {kind, 0, std::move(cpus)}).values.at("#core_wide");
    };
    using Kind = counters::Scope::Kind;
    EXPECT_EQ(core_wide(Kind::cpus, {0, 1}), 1);
    EXPECT_EQ(core_wide(Kind::cpus, {0}), 0);
    EXPECT_EQ(core_wide(Kind::cpus, {}), 1);  // all CPUs
    EXPECT_EQ(core_wide(Kind::command, {}), 0);
    host.smt_active = false;
    EXPECT_EQ(core_wide(Kind::command, {}), 1);
}

}  // namespace
}  // namespace tmaprobe::experiments
