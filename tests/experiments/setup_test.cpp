#include "experiments/setup.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tmaprobe::experiments {
namespace {

bool warns(const record::Record& record, const std::string& id) {
    return std::any_of(record.warnings.begin(), record.warnings.end(),
                       [&](const auto& warning) { return warning.id == id; });
}

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

TEST(StartRecord, SaysThatTimesInAnEmulatedMachineAreTheEmulators) {
    experiments::Setup setup;
    EXPECT_FALSE(warns(start_record({}, setup), "emulated"));
    setup.host.hypervisor = "KVM";
    EXPECT_FALSE(warns(start_record({}, setup), "emulated"));
    setup.host.is_emulated = true;
    EXPECT_TRUE(warns(start_record({}, setup), "emulated"));
}

TEST(MachineConstants, FormulasAreThoseOfWholeCoresOnlyWhereTheseAreCounted) {
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
