#include "experiments/setup.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/sizes.h"
#include "events/nearest.h"

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

/// A server core that a hypervisor shows under the id of a Rocket Lake.
machine::Host contradicted() {
    machine::Host host;
    host.architecture = "x86_64";
    host.cpu_id = "GenuineIntel-6-A7-1";
    const auto choice = events::read_core_choice({}).value();
    for (const auto& core : choice.cores)
        if (core.folder == "emeraldrapids") host.features = core.features;
    host.caches = {{1, "instruction", 32 * kib, 64, 8, 1, ""}, {2, "unified", 2048 * kib, 64, 16, 1, ""}};
    return host;
}

std::string modelled_as(const std::string& target, const machine::Host& host) {
    CountingRequest request;
    request.target = target;
    request.source = SourceChoice::model;
    request.calibration.use = false;
    const auto setup = set_up(request, host, four_cpus());
    if (!setup) return setup.error().what;
    const bool warned =
        std::ranges::find(setup->warnings, "id_contradicted", &record::Warning::id) != setup->warnings.end();
    return setup->table->folder + (setup->target_is_host ? ", here" : "") + (warned ? ", warned of" : "");
}

TEST(SetUp, ACoreThatFeaturesNameIsThisMachinesAlsoWhereItIsTheTarget) {
    auto host = contradicted();
    EXPECT_EQ(modelled_as("", host), "emeraldrapids, here, warned of");
    EXPECT_EQ(modelled_as("emeraldrapids", host), "emeraldrapids, here, warned of");
    EXPECT_EQ(modelled_as("rocketlake", host), "rocketlake, here");
    EXPECT_EQ(modelled_as(host.cpu_id, host), "rocketlake, here");
    EXPECT_EQ(modelled_as("skylakex", host), "skylakex");
    host.cpu_id = "GenuineIntel-6-CF-2";
    EXPECT_EQ(modelled_as("emeraldrapids", host), "emeraldrapids, here");
    EXPECT_EQ(modelled_as("rocketlake", host), "rocketlake");
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
