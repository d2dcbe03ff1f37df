#include "model/calibrated_cpu.h"

#include <gmock/gmock.h>

#include <regex>

#include "base/sizes.h"
#include "model/modelled_cpu.h"

namespace tmaprobe::model {
namespace {

const std::vector<events::CalibrationFact>& known_facts() {
    static const auto facts = events::read_calibration_facts({}).value();
    return facts;
}

record::Calibration found(const std::vector<record::CalibratedFact>& facts) {
    record::Calibration calibration;
    calibration.clock_hz = 2.5e9;
    calibration.facts = facts;
    return calibration;
}

events::CpuGeometry sapphire_rapids() { return events::read_cpu_geometry({}, "sapphirerapids").value(); }

TEST(Calibrate, PutsWhatWasFoundInThePlaceOfTheTablesFigures) {
    events::CpuGeometry cpu = sapphire_rapids();
    const auto used = calibrate(found({{"load.l2", "cycles", 14.4, 14, 15, 7, 0, ""},
                                       {"memory.latency", "ns", 111, 99, 140, 7, 0, ""},
                                       {"store.forward_failed", "cycles", 19.7, 19, 20, 7, 0, ""}}),
                                known_facts(), cpu);
    EXPECT_THAT(used, testing::ElementsAre("load.l2", "memory.latency", "store.forward_failed"));
    EXPECT_EQ(table_figure("load.l2", cpu), 14);
    EXPECT_EQ(table_figure("memory.latency", cpu), 111);
    EXPECT_EQ(cpu.memory.latency_low_ns, 99);
    EXPECT_EQ(cpu.memory.latency_high_ns, 140);
    EXPECT_EQ(cpu.core->store_forward_failed_cycles, 20u);
    EXPECT_EQ(cpu.frequency_hz, 2.5e9);
}

TEST(Calibrate, TheLastLevelGetsTheShareThatWasFound) {
    events::CpuGeometry cpu = sapphire_rapids();
    const double whole = *table_figure("size.l3", cpu), share = 10 << 20;
    EXPECT_EQ(whole, (2 + 105) * (1 << 20));
    EXPECT_THAT(calibrate(found({{"size.l3", "bytes", share, share, share, 7, 0, ""}}), known_facts(), cpu),
                testing::ElementsAre("size.l3"));
    EXPECT_EQ(table_figure("size.l3", cpu), share);
    // More than the CPU has, or less than its second level, is no share of the third.
    for (const double wrong : {whole, 1e6})
        EXPECT_THAT(calibrate(found({{"size.l3", "bytes", wrong, wrong, wrong, 7, 0, ""}}), known_facts(), cpu),
                    testing::IsEmpty());
}

TEST(Calibrate, AVirtualMachineHasThePartOfItsCpus) {
    ThisMachine machine;
    machine.virtual_cpus = 8;
    machine.are_siblings = true;  // of 112 logical CPUs
    events::CpuGeometry cpu = sapphire_rapids();
    EXPECT_NEAR(part_of_third_level(machine, cpu), 8.0 / 112, 1e-9);
    machine.are_siblings = false;  // each has a core, and so two
    EXPECT_NEAR(part_of_third_level(machine, cpu), 16.0 / 112, 1e-9);
    for (const int all : {0, 112, 200}) {
        machine.virtual_cpus = all;
        EXPECT_EQ(part_of_third_level(machine, cpu), 1);
        EXPECT_FALSE(share_third_level(1, cpu));
        EXPECT_EQ(*table_figure("size.l3", cpu), (2 + 105) * (1 << 20));
    }
    EXPECT_TRUE(share_third_level(8.0 / 112, cpu));
    EXPECT_NEAR(*table_figure("size.l3", cpu), (2 + 7.5) * (1 << 20), 1);
}

TEST(Calibrate, AThirdLevelHasWhatItWasFoundToHold) {
    events::CpuGeometry cpu = sapphire_rapids();
    for (const std::uint64_t of_no_use : {std::uint64_t{0}, 3 * mib, 500 * mib}) {
        EXPECT_FALSE(take_third_level({of_no_use, 0, 0}, cpu));
        EXPECT_EQ(*table_figure("size.l3", cpu), 107 * mib);
    }
    EXPECT_EQ(take_third_level({37 * mib, 50 * mib, 3e6}, cpu), 37 * mib) << "how it replaces is not known";
    EXPECT_EQ(*table_figure("size.l3", cpu), 37 * mib);
}

TEST(Calibrate, OneThatKeepsWhatWasUsedLastHasAllThatItIsGivenAndLosesItToOthers) {
    const events::CpuGeometry zen4 = events::read_cpu_geometry({}, "amdzen4").value();
    events::CpuGeometry cpu = zen4;
    EXPECT_EQ(take_third_level({12 * mib, 20 * mib, 3e6}, cpu), 20 * mib);
    const auto others_fill_ns = [&] { return cpu.caches.back().others_fill_ns; };
    EXPECT_EQ(others_fill_ns(), 3e6);
    cpu = zen4;
    EXPECT_EQ(take_third_level({12 * mib, 33 * mib, 3e6}, cpu), 33 * mib) << "all that there is";
    EXPECT_EQ(others_fill_ns(), 3e6);
    cpu = zen4;
    EXPECT_EQ(take_third_level({12 * mib, 0, 0}, cpu), 12 * mib);
    EXPECT_EQ(others_fill_ns(), 0);
    cpu = zen4;
    const double given = 20 * mib;
    EXPECT_THAT(calibrate(found({{"size.l3", "bytes", 12 * mib, 11 * mib, 13 * mib, 7, 0, ""},
                                 {"given.l3", "bytes", given, given, given, 3, 0, ""},
                                 {"others.l3", "ms", 3, 2, 4, 3, 0, ""}}),
                          known_facts(), cpu),
                testing::ElementsAre("given.l3", "others.l3"));
    EXPECT_EQ(*table_figure("size.l3", cpu), given);
    EXPECT_EQ(others_fill_ns(), 3e6);
}

TEST(Calibrate, WhatIsHardlyMoreThanTheSecondLevelIsNoShareOfTheThird) {
    events::CpuGeometry cpu = sapphire_rapids();
    EXPECT_FALSE(share_third_level(0.5 / 105, cpu));
    EXPECT_EQ(*table_figure("size.l3", cpu), (2 + 105) * (1 << 20));
}

TEST(Calibrate, AWalksOwnStepIsWhatTheSecondTlbAndTheCacheLeaveOfIt) {
    events::CpuGeometry cpu = sapphire_rapids();
    EXPECT_EQ(table_figure("translation.walk", cpu), 7 + 15 + 5);
    calibrate(
        found({{"translation.walk", "cycles", 63, 60, 64, 7, 0, ""}, {"lines.l3", "cycles", 6.4, 6.2, 6.5, 7, 0, ""}}),
        known_facts(), cpu);
    EXPECT_EQ(cpu.translation.walk_step_cycles, 63u - 7 - 15);
    EXPECT_EQ(table_figure("lines.l3", cpu), 6.4);
}

TEST(Calibrate, WalkersAreAsManyAsAreBusyAllTheTime) {
    const auto walkers = [](double cycles_a_walk) {
        events::CpuGeometry cpu = sapphire_rapids();
        EXPECT_EQ(*table_figure("translation.walk_beside", cpu), (5 + 15) / 4.0);
        calibrate(found({{"translation.walk", "cycles", 63, 60, 64, 7, 0, ""},
                         {"translation.walk_beside", "cycles", cycles_a_walk, 10, 60, 7, 0, ""}}),
                  known_facts(), cpu);
        return cpu.translation.walkers;
    };
    EXPECT_EQ(walkers(56), 1u);
    EXPECT_EQ(walkers(19), 3u);
    EXPECT_EQ(walkers(11), 4u);  // eight chains show no more
    EXPECT_EQ(walkers(200), 4u);
}

TEST(Calibrate, AVirtualMachineWalksTwoTables) {
    events::CpuGeometry cpu = sapphire_rapids();
    walk_two_tables(cpu);
    EXPECT_EQ(table_figure("translation.walk", cpu), 7 + 15 + cpu.translation.nested_walk_step_cycles);
    EXPECT_EQ(cpu.translation.walkers, cpu.translation.nested_walkers);
    cpu.translation.nested_walk_step_cycles = cpu.translation.nested_walkers = 0;
    const unsigned before = cpu.translation.walk_step_cycles;
    walk_two_tables(cpu);
    EXPECT_EQ(cpu.translation.walk_step_cycles, before);
}

TEST(Calibrate, WhatAWalkInASplitPageTakesIsOfTheCalibrationIfThereIsOne) {
    ThisMachine machine;
    EXPECT_EQ(large_page_walk(machine), 0);
    machine.large_page_walk = 0.7;
    EXPECT_EQ(large_page_walk(machine), 0.7);
    machine.calibration = found({{"translation.large_page_walk", "share", 0.6, 0.5, 0.7, 3, 0, ""}});
    EXPECT_EQ(large_page_walk(machine), 0.6);
    events::CpuGeometry cpu = sapphire_rapids();
    EXPECT_EQ(calibrate(*machine.calibration, known_facts(), cpu),
              std::vector<std::string>{"translation.large_page_walk"});
    EXPECT_EQ(cpu.translation.large_page_walk, 0.6);
    machine.calibration->facts.clear();
    EXPECT_EQ(large_page_walk(machine), 0) << "its large pages are whole";
}

TEST(Calibrate, WhatHasAReasonAgainstItOrNoPlaceIsLeftOut) {
    events::CpuGeometry cpu = sapphire_rapids();
    const auto before = table_figure("load.l2", cpu);
    const auto used = calibrate(found({{"load.l2", "cycles", 44, 20, 80, 1, 9, "the readings differ by 136%"},
                                       {"width.loads", "steps per cycle", 3, 3, 3, 7, 0, ""},
                                       {"of.the.future", "cycles", 3, 3, 3, 7, 0, ""}}),
                                known_facts(), cpu);
    EXPECT_THAT(used, testing::IsEmpty());
    EXPECT_EQ(table_figure("load.l2", cpu), before);
}

TEST(Calibrate, ALatencyIsACorrectionThatComesLast) {
    events::CpuGeometry cpu = sapphire_rapids();
    const std::size_t before = cpu.corrections.size();
    EXPECT_THAT(calibrate(found({{"latency.multiply_double", "cycles", 3.02, 3, 3.1, 7, 0, ""}}), known_facts(), cpu),
                testing::SizeIs(1));
    ASSERT_EQ(cpu.corrections.size(), before + 1);
    EXPECT_EQ(cpu.corrections.back().latency, 3u);
    EXPECT_TRUE(cpu.corrections.back().latency_of_chain);
    const std::regex names(cpu.corrections.back().instructions);
    for (const char* name : {"MULSDrr", "VMULPDYrm", "MULSSrr"}) EXPECT_TRUE(std::regex_match(name, names)) << name;
    for (const char* name : {"MULSDrr_Int", "IMUL64rr", "VPMULLDrr"})
        EXPECT_FALSE(std::regex_match(name, names)) << name;
    EXPECT_TRUE(modelled_cpu(cpu, "test", "GenuineIntel-6-8F-8")) << "the expressions of all facts are ones";
}

TEST(Calibrate, AFolderMayAddToTheCorrectionsOfItsTwin) {
    const auto twin = events::read_cpu_geometry({}, "graniterapids");
    ASSERT_TRUE(twin) << twin.error().what;
    EXPECT_GT(twin->corrections.size(), sapphire_rapids().corrections.size());
    EXPECT_TRUE(twin->further_corrections.empty());
}

}  // namespace
}  // namespace tmaprobe::model
