#include "judge/gate.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tmaprobe::judge {
namespace {

using record::GateVerdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A cost with an interval of so much of it either way.
record::Gate gate(double cycles, double around = 0.002) {
    record::Gate gate;
    gate.command = {"/build/bench", "10"};
    gate.architecture = "x86_64";
    gate.layouts = 2;
    gate.seed = 1;
    gate.cost.cycles = {cycles, cycles * (1 - around), cycles * (1 + around)};
    gate.cost.layouts = {cycles * 0.99, cycles * 1.01};
    gate.cost.instructions = gate.cost.instructions_again = 2 * cycles;
    gate.cost.measured_ns = {1e9, 1.1e9, 1.2e9};
    gate.cost.functions = {{"bench", "hot", "src/hot.c", 0, 0.9 * cycles, 1.8 * cycles},
                           {"bench", "main", "src/main.c", 0, 0.1 * cycles, 0.2 * cycles}};
    return gate;
}

record::Record baseline(const record::Gate& gate) {
    record::Record record;
    record.tool.version = "1.0";
    record.source.target = "AuthenticAMD-25-11-1";
    record.runs.emplace_back().extra.gate = gate;
    return record;
}

TEST(Gate, IsSlowerWhereItIsMoreThanIsAllowedAndTheIntervalsLieApart) {
    const auto result = gate_result(gate(1000), gate(1030), 0.02);
    EXPECT_EQ(result.verdict, GateVerdict::slower);
    EXPECT_NEAR(result.change->value, 0.03, 1e-9);
    EXPECT_NEAR(result.change->high - result.change->value, 1.03 * 0.002 * std::sqrt(2), 1e-6);
    EXPECT_NEAR(*result.instructions, 0.03, 1e-9);
    EXPECT_NEAR(*result.measured, 0, 1e-9);
}

TEST(Gate, WhatMayBeAllowedPasses) {
    EXPECT_EQ(gate_result(gate(1000), gate(1019), 0.02).verdict, GateVerdict::passed);
    EXPECT_EQ(gate_result(gate(1000), gate(1021), 0.02).verdict, GateVerdict::slower);
    // More than is allowed, but no more than both intervals are wide.
    EXPECT_EQ(gate_result(gate(1000, 0.011), gate(1021, 0.011), 0.02).verdict, GateVerdict::passed);
    EXPECT_EQ(gate_result(gate(1000), gate(1000), 0.0).verdict, GateVerdict::passed);
    EXPECT_EQ(gate_result(gate(1000), gate(900), 0.02).verdict, GateVerdict::faster);
}

TEST(Gate, IsSlowerWhereARegionIs) {
    const auto with_region = [](double cycles, double around) {
        record::Gate one = gate(1000);
        one.cost.regions = {{"parse", {cycles, cycles * (1 - around), cycles * (1 + around)}, 200}};
        return one;
    };
    const auto result = gate_result(with_region(100, 0.01), with_region(110, 0.01), 0.02);
    EXPECT_EQ(result.verdict, GateVerdict::slower);
    EXPECT_NEAR(result.change->value, 0, 1e-9);
    ASSERT_EQ(result.regions.size(), 1u);
    EXPECT_EQ(result.regions.front().verdict, GateVerdict::slower);
    EXPECT_NEAR(result.regions.front().change.value, 0.1, 1e-9);

    // What is known of a region too roughly does not decide.
    const auto rough = gate_result(with_region(100, 0.2), with_region(110, 0.2), 0.02);
    EXPECT_EQ(rough.verdict, GateVerdict::passed);
    EXPECT_EQ(rough.regions.front().verdict, GateVerdict::not_judged);
}

TEST(Gate, SaysWhichRegionsAppearedAndVanished) {
    record::Gate before = gate(1000), after = gate(1000);
    before.cost.regions = {{"old", {10, 9, 11}, 20}};
    after.cost.regions = {{"new", {10, 9, 11}, 20}};
    const auto result = gate_result(before, after, 0.02);
    EXPECT_EQ(result.verdict, GateVerdict::passed);
    EXPECT_THAT(result.regions, IsEmpty());
    EXPECT_THAT(result.regions_appeared, ElementsAre("new"));
    EXPECT_THAT(result.regions_vanished, ElementsAre("old"));
}

TEST(Gate, DoesNotJudgeWhatItCannotSee) {
    const auto result = gate_result(gate(1000), gate(1010, 0.05), 0.02);
    EXPECT_EQ(result.verdict, GateVerdict::not_judged);
    EXPECT_THAT(result.reason, HasSubstr("too wide"));
    EXPECT_EQ(gate_result(gate(1000), gate(1200, 0.05), 0.02).verdict, GateVerdict::slower);
}

TEST(Gate, RunsThatDifferAreNotJudged) {
    auto now = gate(1000);
    now.cost.instructions_again *= 1.01;
    now.cost.clock_reads = 7;
    const auto result = gate_result(gate(1000), now, 0.02);
    EXPECT_EQ(result.verdict, GateVerdict::not_judged);
    EXPECT_THAT(result.reason, HasSubstr("it reads the clock (7 times)"));
    EXPECT_THAT(gate_result(now, gate(1000), 0.02).reason, HasSubstr("the baseline says nothing"));
}

TEST(Gate, NamesWhatMovedAppearedAndVanished) {
    auto now = gate(1000);
    now.cost.functions = {{"bench", "hot", "/other/hot.c", 0, 950, 1800}, {"bench", "colder", "c.c", 0, 80, 100}};
    const auto result = gate_result(gate(1000), now, 0.02);
    ASSERT_EQ(result.functions.size(), 3u);
    EXPECT_EQ(result.functions[0].code.function, "main");
    EXPECT_NEAR(result.functions[0].share, -0.1, 1e-9);
    EXPECT_EQ(result.functions[2].code.function, "hot");
    EXPECT_NEAR(result.functions[2].share, 0.05, 1e-9);
    EXPECT_THAT(result.appeared, ElementsAre("colder"));
    EXPECT_THAT(result.vanished, ElementsAre("main"));
}

TEST(Gate, SaysThatProgramArgumentsOrLibrariesAreOthers) {
    auto before = gate(1000), now = gate(1000);
    EXPECT_THAT(gate_result(before, now, 0.02).notes, IsEmpty());
    now.command = {"./other", "11"};
    before.cost.modules = {{"bench", "1"}, {"libc.so.6", "2"}};
    now.cost.modules = {{"other", "3"}, {"libc.so.6", "4"}};
    EXPECT_THAT(gate_result(before, now, 0.02).notes,
                ElementsAre("the baseline is of bench, this is other", "the arguments are other than the baseline's",
                            "other builds than the baseline's: libc.so.6"));
}

TEST(Gate, OtherInstructionsToChooseAmongAreNotJudged) {
    auto now = gate(1000);
    now.architecture = "x86-64-v3";
    const auto result = gate_result(gate(1000), now, 0.02);
    EXPECT_EQ(result.verdict, GateVerdict::not_judged);
    EXPECT_THAT(result.reason, HasSubstr("among the instructions of x86_64, here it can among those of x86-64-v3"));
}

TEST(Gate, RefusesABaselineThatIsNoneOfThis) {
    const auto good = baseline(gate(1000));
    const auto why = [](const record::Record& record, const char* version, const char* target) {
        const auto checked = check_baseline(record, "main.json", version, target);
        return checked ? std::string() : checked.error().what;
    };
    EXPECT_EQ(why(good, "1.0", ""), "");
    EXPECT_EQ(why(good, "1.0", "AuthenticAMD-25-11-1"), "");
    EXPECT_THAT(why(good, "1.1", ""), HasSubstr("made by tmaprobe 1.0, and this is 1.1"));
    EXPECT_THAT(why(good, "1.0", "GenuineIntel-6-55-7"), HasSubstr("asks for GenuineIntel-6-55-7"));
    EXPECT_THAT(why({}, "1.0", ""), HasSubstr("no baseline of a gate"));
    auto by_hand = gate(1000);
    by_hand.cost.cycles.value = 2000;
    EXPECT_THAT(why(baseline(by_hand), "1.0", ""), HasSubstr("changed by hand"));
    by_hand = gate(1000);
    by_hand.cost.cycles = {2000, 1990, 2010};
    EXPECT_THAT(why(baseline(by_hand), "1.0", ""), HasSubstr("changed by hand"));
    by_hand = gate(1000);
    by_hand.cost.layouts.pop_back();
    EXPECT_THAT(why(baseline(by_hand), "1.0", ""), HasSubstr("changed by hand"));
}

TEST(Gate, RefusesABaselineOfAnotherModel) {
    auto before = gate(1000);
    before.model = "2-19.1.7-00";
    EXPECT_TRUE(check_model(before, "main.json", "2-19.1.7-00"));
    const auto other = check_model(before, "main.json", "3-19.1.7-00");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::bad_input);
    EXPECT_THAT(other.error().what,
                HasSubstr("main.json: made with model 2-19.1.7-00, and this build has 3-19.1.7-00"));
    EXPECT_THAT(other.error().hint, HasSubstr("--update main.json"));
    before.model.clear();
    const auto unknown = check_model(before, "main.json", "2-19.1.7-00");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().what, HasSubstr("did not say with which model"));
}

}  // namespace
}  // namespace tmaprobe::judge
