#include "model/core_error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tmaprobe::model {
namespace {

using record::SlotCause;
using record::Variation;

/// 1,000 cycles of six slots: half retire, the rest is of every part.
Facts some_facts() {
    return {{"cycles", 1000},
            {"slots", 6000},
            {"instructions", 2500},
            {"mispredicts", 10},
            {"uops", 3000},
            {"slots_frontend", 600},
            {"slots_frontend_latency", 300},
            {"uops_wrong_path", 400},
            {"slots_recovery", 0},
            {"slots_backend", 2000},
            {"slots_backend_memory", 800},
            {"cycles_no_execute", 200},
            {"slots_by_cause_retiring", 3000},
            {"slots_by_cause_wrong_path", 400},
            {"slots_by_cause_resteer", 200},
            {"slots_by_cause_taken_branch", 400},
            {"slots_by_cause_dependency", 1200},
            {"slots_by_cause_dram", 800}};
}

events::CoreError some_error() {
    return {{},
            {{SlotCause::retiring, 0.1, 0, SlotCause::port},
             {SlotCause::wrong_path, 0.5, 0.2},
             {SlotCause::resteer, 0.5, 0.2},
             {SlotCause::taken_branch, 0.25, 0.1},
             {SlotCause::dependency, 0.2, 0.1},
             {SlotCause::dram, 0.25, 0.25}}};
}

void expect_every_slot_once(const Facts& facts) {
    EXPECT_NEAR(value_of(facts, "slots"), 6 * value_of(facts, "cycles"), 1e-6);
    EXPECT_NEAR(value_of(facts, "uops") + value_of(facts, "uops_wrong_path") + value_of(facts, "slots_recovery") +
                    value_of(facts, "slots_frontend") + value_of(facts, "slots_backend"),
                value_of(facts, "slots"), 1e-6);
    double causes = 0;
    for (const auto& [name, count] : facts)
        if (name.starts_with("slots_by_cause_")) causes += count;
    EXPECT_NEAR(causes, value_of(facts, "slots"), 1e-6);
    EXPECT_LE(value_of(facts, "slots_backend_memory"), value_of(facts, "slots_backend"));
}

TEST(CoreError, ASlowerPartHasItsSlotsMoreAndAllElseStays) {
    const Facts slower = with_core_error(some_facts(), some_error(), {0, 1, 0});
    expect_every_slot_once(slower);
    EXPECT_DOUBLE_EQ(value_of(slower, "uops_wrong_path"), 600);
    EXPECT_DOUBLE_EQ(value_of(slower, "slots_frontend"), 700) << "resteering delivers nothing";
    EXPECT_DOUBLE_EQ(value_of(slower, "mispredicts"), 15);
    EXPECT_DOUBLE_EQ(cycles_of(slower), 1050);
    EXPECT_DOUBLE_EQ(value_of(slower, "slots_backend"), 2000);
    EXPECT_DOUBLE_EQ(value_of(slower, "instructions"), 2500);
}

TEST(CoreError, WhatRetiresMayBeHeldUpByWhatIsNotModelled) {
    const Facts slower = with_core_error(some_facts(), some_error(), {0, 0, 1});
    expect_every_slot_once(slower);
    EXPECT_DOUBLE_EQ(value_of(slower, "slots_by_cause_port"), 300);
    EXPECT_DOUBLE_EQ(value_of(slower, "slots_by_cause_retiring"), 3000);
    EXPECT_DOUBLE_EQ(value_of(slower, "slots_backend"), 2000 + 300 + 240 + 200);
    EXPECT_DOUBLE_EQ(value_of(slower, "slots_backend_memory"), 1000);
    EXPECT_DOUBLE_EQ(value_of(slower, "cycles_no_execute"), 200 * 2740 / 2000.0) << "goes with the slots of its kind";
}

TEST(CoreError, AFasterCoreStillRetiresWhatWasExecuted) {
    const Facts faster = with_core_error(some_facts(), some_error(), {-1, -1, -1});
    expect_every_slot_once(faster);
    EXPECT_DOUBLE_EQ(value_of(faster, "slots_by_cause_retiring"), 3000);
    EXPECT_LT(cycles_of(faster), 1000);
}

TEST(CoreError, EachPartMayDifferAloneAndAllTogether) {
    const auto varied = core_variations(some_facts(), some_error());
    const auto cycles = [&](Variation what) {
        return cycles_of(std::ranges::find(varied, what, &FactVariation::what)->facts);
    };
    EXPECT_NEAR(cycles(Variation::core_slower) - 1000,
                cycles(Variation::front_end_differs) + cycles(Variation::speculation_differs) +
                    cycles(Variation::back_end_differs) - 3000,
                1e-6);
    EXPECT_LT(cycles(Variation::core_faster), 1000);
    EXPECT_EQ(std::ranges::count(varied, Variation::speculation_differs, &FactVariation::what), 2);
}

TEST(CoreError, CyclesAloneAreThoseOfTheFacts) {
    const CyclesByCore by_core = cycles_by_core(some_facts(), some_error());
    for (const CoreOff& off : outermost_cores)
        EXPECT_NEAR(by_core.with(off), cycles_of(with_core_error(some_facts(), some_error(), off)), 1e-9);
    EXPECT_DOUBLE_EQ(cycles_by_core({{"cycles", 10}}, some_error()).with({1, 1, 1}), 10);
}

TEST(CoreError, OfSumsWithoutCausesNothingIsSaid) {
    EXPECT_TRUE(core_variations({{"cycles", 10}, {"instructions", 10}}, some_error()).empty());
    EXPECT_TRUE(core_variations(some_facts(), {}).empty());
}

}  // namespace
}  // namespace tmaprobe::model
