#include "counters/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <set>

#include "counters/fit.h"
#include "events/table.h"

namespace tmaprobe::counters {
namespace {

events::Table table(const std::string& target) {
    auto loaded = events::load({}, target);
    EXPECT_TRUE(loaded) << loaded.error().what;
    return loaded ? *loaded : events::Table{};
}

PmuLimits intel(int general, bool slots = false, bool level2 = false, const std::string& pmu = "cpu") {
    PmuLimits limits;
    limits.pmu = pmu;
    limits.general_counters = general;
    limits.fixed_counters = 3;
    limits.has_slots = slots;
    limits.has_level2_metrics = level2;
    return limits;
}

PmuLimits amd(int general) {
    PmuLimits limits;
    limits.general_counters = general;
    return limits;
}

std::vector<std::string> tree(const events::Table& table, int level) {
    std::vector<std::string> names;
    for (const auto& metric : table.metrics)
        if (metric.level > 0 && metric.level <= level &&
            std::find(names.begin(), names.end(), metric.name) == names.end())
            names.push_back(metric.name);
    return names;
}

metrics::Constants constants(bool smt = false) {
    metrics::Constants made;
    // Without SMT a thread has its core to itself, which is what core_wide asks.
    made.values = {{"#smt_on", smt ? 1 : 0}, {"#core_wide", smt ? 0 : 1}, {"#slots", 8},
                   {"#num_cpus", 2},         {"#num_cores", 2},           {"#num_packages", 1},
                   {"#num_dies", 1},         {"#system_tsc_freq", 2e9},   {"#num_cpus_online", 2},
                   {"#has_pmem", 0}};
    return made;
}

Plan plan(const events::Table& table, const std::vector<std::string>& metrics, const std::vector<PmuLimits>& limits,
          Policy policy = Policy::passes) {
    auto made = make_plan(table, metrics, {}, limits, constants(), policy);
    EXPECT_TRUE(made) << made.error().what;
    return made ? *made : Plan{};
}

std::string text(const EventGroup& group) {
    std::string names = group.pmu + ":";
    for (const auto& event : group.events) names += " " + event.name;
    return names;
}

std::set<std::string> groups(const Plan& plan) {
    std::set<std::string> all;
    for (const auto& pass : plan.passes)
        for (const auto& group : pass.groups) all.insert(text(group));
    return all;
}

/// The metric's events, and whether one group, or one pass, holds them all.
bool counted_at_once(const events::Table& table, const Plan& plan, const std::string& metric) {
    const auto needed = metrics::events_needed(table.metrics, {metric}, constants());
    if (!needed) return false;
    for (const auto& pass : plan.passes) {
        std::set<std::string> held;
        for (const auto& group : pass.groups)
            for (const auto& event : group.events) held.insert(event.name);
        if (std::all_of(needed->begin(), needed->end(), [&](const auto& name) { return held.contains(name); }))
            return true;
    }
    return false;
}

/// The encodings that each pass counts.
std::vector<std::set<std::pair<std::string, std::uint64_t>>> passes(const Plan& plan) {
    std::vector<std::set<std::pair<std::string, std::uint64_t>>> all;
    for (const auto& pass : plan.passes) {
        all.emplace_back();
        for (const auto& group : pass.groups)
            for (const auto& event : group.events) all.back().emplace(group.pmu, event.definition.config);
    }
    return all;
}

bool has_note(const Plan& plan, const std::string& metric) {
    return std::any_of(plan.split.begin(), plan.split.end(), [&](const auto& split) { return split.name == metric; });
}

TEST(Plan, Zen4LevelOneIsOneGroupOfSix) {
    const auto zen4 = table("amdzen4");
    const auto made = plan(zen4, tree(zen4, 1), {amd(6)});
    ASSERT_EQ(made.passes.size(), 1u);
    ASSERT_EQ(made.passes[0].groups.size(), 1u);
    EXPECT_EQ(made.passes[0].groups[0].events.size(), 6u);
    EXPECT_TRUE(made.notes.empty());
    EXPECT_TRUE(made.split.empty());
}

TEST(Plan, LatenciesAreSampledOnceAndNeverCounted) {
    const auto granite = table("graniterapids");
    const auto made =
        plan(granite, {"tma_lock_latency", "tma_code_l2_miss", "tma_code_l2_hit"}, {intel(8, true, true)});
    std::set<std::string> names;
    for (const auto& event : made.latencies) {
        EXPECT_TRUE(event.key && event.key->latency) << event.name;
        EXPECT_EQ(event.definition.pmu, "cpu");
        names.insert(event.name);
    }
    EXPECT_EQ(names, (std::set<std::string>{"MEM_INST_RETIRED.LOCK_LOADS:R", "FRONTEND_RETIRED.L2_MISS:R",
                                            "FRONTEND_RETIRED.L1I_MISS:R"}));
    EXPECT_EQ(made.latencies.size(), names.size());
    for (const auto& pass : made.passes)
        for (const auto& group : pass.groups)
            for (const auto& event : group.events) EXPECT_FALSE(event.definition.is_latency()) << event.name;
    EXPECT_TRUE(plan(granite, {"tma_retiring"}, {intel(8, true, true)}).latencies.empty());
    const auto meteor = plan(table("meteorlake"), {"tma_lock_latency"}, {intel(8, true, true, "cpu_core")});
    ASSERT_EQ(meteor.latencies.size(), 1u);
    EXPECT_EQ(meteor.latencies.front().definition.pmu, "cpu_core");
}

TEST(Plan, WatchdogsCounterMeansMorePassesAndNoMissingMetric) {
    const auto zen4 = table("amdzen4");
    const auto made = plan(zen4, tree(zen4, 2), {amd(5)});
    for (const auto& pass : made.passes)
        for (const auto& group : pass.groups) EXPECT_LE(group.events.size(), 5u) << text(group);
    for (const auto& metric : tree(zen4, 2)) EXPECT_TRUE(counted_at_once(zen4, made, metric)) << metric;
    EXPECT_GT(made.passes.size(), plan(zen4, tree(zen4, 2), {amd(6)}).passes.size());
}

TEST(Plan, SkylakeLevelOneIsOneGroupOnFourCounters) {
    const auto skylake = table("skylakex");
    const auto made = plan(skylake, tree(skylake, 1), {intel(4)});
    EXPECT_EQ(made.passes.size(), 1u) << fmt::format("{}", fmt::join(groups(made), "\n"));
    EXPECT_EQ(made.passes[0].groups.size(), 1u);
}

TEST(Plan, SkylakeWithSmtSplitsLevelOneOverTwoRuns) {
    const auto skylake = table("skylakex");
    const auto made = make_plan(skylake, tree(skylake, 1), {}, {intel(4)}, constants(true), Policy::passes);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->passes.size(), 2u) << fmt::format("{}", fmt::join(groups(*made), "\n"));
    EXPECT_TRUE(has_note(*made, "tma_backend_bound"));
    EXPECT_FALSE(has_note(*made, "tma_retiring"));
}

TEST(Plan, MetricThatCannotFitIsSplitAndSaysSo) {
    const auto skylake = table("skylakex");
    const auto made = plan(skylake, tree(skylake, 2), {intel(4)});
    EXPECT_TRUE(has_note(made, "tma_memory_bound"));
    EXPECT_FALSE(has_note(made, "tma_frontend_bound"));
    EXPECT_FALSE(has_note(made, "tma_fetch_latency"));
}

TEST(Plan, TopdownEventsStandAloneUnderSlots) {
    const auto sapphire = table("sapphirerapids");
    for (const auto policy : {Policy::passes, Policy::multiplex}) {
        const auto made = plan(sapphire, tree(sapphire, 2), {intel(8, true, true)}, policy);
        for (const auto& pass : made.passes)
            for (const auto& group : pass.groups) {
                const bool topdown =
                    std::any_of(group.events.begin(), group.events.end(), [](const auto& e) { return e.metric_only; });
                if (!topdown) continue;
                EXPECT_TRUE(is_slots(group.events.front().definition, sapphire.format)) << text(group);
                for (std::size_t index = 1; index < group.events.size(); ++index)
                    EXPECT_TRUE(group.events[index].metric_only) << text(group);
            }
    }
}

TEST(Plan, SapphireRapidsTreeNeedsOnePass) {
    const auto sapphire = table("sapphirerapids");
    const auto made = plan(sapphire, tree(sapphire, 2), {intel(8, true, true)});
    EXPECT_EQ(made.passes.size(), 1u) << fmt::format("{}", fmt::join(groups(made), "\n"));
    for (const auto& metric : tree(sapphire, 2)) EXPECT_TRUE(counted_at_once(sapphire, made, metric)) << metric;
    EXPECT_TRUE(made.notes.empty());
}

TEST(Plan, WithoutPerfMetricsTheTreeUsesOrdinaryCounters) {
    for (const char* name : {"sapphirerapids", "icelakex", "graniterapids"}) {
        auto cpu = table(name);
        const auto replaced = events::use_formulas_without_perf_metrics({}, cpu);
        ASSERT_TRUE(replaced && *replaced) << name;
        const auto made = plan(cpu, tree(cpu, 2), {intel(8)});
        for (const auto& pass : made.passes)
            for (const auto& group : pass.groups)
                for (const auto& event : group.events) {
                    EXPECT_FALSE(event.metric_only) << event.name;
                    EXPECT_FALSE(is_slots(event.definition, cpu.format)) << event.name;
                }
        for (const auto& metric : tree(cpu, 1))
            EXPECT_TRUE(counted_at_once(cpu, made, metric)) << name << " " << metric;
    }
    auto zen4 = table("amdzen4");
    EXPECT_FALSE(*events::use_formulas_without_perf_metrics({}, zen4));
}

TEST(Plan, HybridGroupsNeverMixPmus) {
    const auto alder = table("alderlake");
    auto atom = intel(6, false, false, "cpu_atom");
    const auto made = plan(alder, tree(alder, 2), {intel(8, true, true, "cpu_core"), atom});
    std::set<std::string> pmus;
    for (const auto& pass : made.passes)
        for (const auto& group : pass.groups) {
            pmus.insert(group.pmu);
            for (const auto& event : group.events) EXPECT_EQ(event.definition.pmu, group.pmu) << text(group);
        }
    EXPECT_EQ(pmus, (std::set<std::string>{"cpu_atom", "cpu_core"}));
    EXPECT_TRUE(made.split.empty());
}

TEST(Plan, MultiplexIsOnePassOfAllGroups) {
    const auto zen4 = table("amdzen4");
    const auto passes = plan(zen4, tree(zen4, 2), {amd(6)}),
               together = plan(zen4, tree(zen4, 2), {amd(6)}, Policy::multiplex);
    EXPECT_EQ(together.passes.size(), 1u);
    EXPECT_EQ(groups(together), groups(passes));
}

TEST(Plan, WhatFitsAtOnceTakesNoTurns) {
    const auto sapphire = table("sapphirerapids");
    const auto made = plan(sapphire, tree(sapphire, 2), {intel(8, true, true)}, Policy::multiplex);
    EXPECT_TRUE(made.split.empty());
    EXPECT_EQ(groups(made), groups(plan(sapphire, tree(sapphire, 2), {intel(8, true, true)})));
}

TEST(Plan, NoEventIsOpenedTwiceInOneGroupNorInAPassThatFits) {
    for (const auto& [name, limits] :
         std::vector<std::pair<std::string, PmuLimits>>{{"amdzen4", amd(6)},
                                                        {"amdzen3", amd(6)},
                                                        {"skylakex", intel(4)},
                                                        {"icelakex", intel(8, true)},
                                                        {"sapphirerapids", intel(8, true, true)}}) {
        const auto cpu = table(name);
        const auto check = [&](const std::vector<PlannedEvent>& events) {
            for (std::size_t one = 0; one < events.size(); ++one)
                for (std::size_t other = one + 1; other < events.size(); ++other)
                    EXPECT_FALSE(same_encoding(events[one], events[other]))
                        << name << ": " << events[one].name << ", " << events[other].name;
        };
        for (const auto policy : {Policy::passes, Policy::multiplex})
            for (const auto& pass : plan(cpu, tree(cpu, 2), {limits}, policy).passes) {
                std::vector<PlannedEvent> all;
                for (const auto& group : pass.groups) {
                    check(group.events);
                    all.insert(all.end(), group.events.begin(), group.events.end());
                }
                if (policy == Policy::passes || fits(all, limits, cpu.format)) check(all);
            }
    }
}

TEST(Plan, PassesOfASplitMetricCountWhatTheyAreComparedBy) {
    const auto skylake = table("skylakex");
    const auto made = plan(skylake, tree(skylake, 2), {intel(4)});
    ASSERT_TRUE(has_note(made, "tma_memory_bound"));
    ASSERT_GT(made.passes.size(), 1u);
    for (const auto& pass : made.passes) {
        std::set<std::uint64_t> configs;
        for (const auto& group : pass.groups)
            for (const auto& event : group.events) configs.insert(event.definition.config);
        EXPECT_TRUE(configs.contains(0x3c) && configs.contains(0xc0)) << fmt::format("{}", fmt::join(configs, " "));
    }
}

TEST(Plan, EachPassFitsThePmu) {
    for (const auto& [name, limits] :
         std::vector<std::pair<std::string, PmuLimits>>{{"amdzen4", amd(6)},
                                                        {"amdzen5", amd(5)},
                                                        {"skylakex", intel(4)},
                                                        {"skylakex", intel(8)},
                                                        {"icelakex", intel(4, true)},
                                                        {"icelakex", intel(8, true)},
                                                        {"sapphirerapids", intel(8, true, true)},
                                                        {"broadwellx", intel(4)},
                                                        {"sandybridge", intel(3)}}) {
        const auto cpu = table(name);
        const auto made = plan(cpu, tree(cpu, 2), {limits});
        EXPECT_FALSE(made.passes.empty()) << name;
        for (const auto& pass : made.passes) {
            std::vector<PlannedEvent> all;
            for (const auto& group : pass.groups) all.insert(all.end(), group.events.begin(), group.events.end());
            EXPECT_TRUE(fits(all, limits, cpu.format)) << name;
        }
    }
}

TEST(Plan, EveryMetricIsCountedAtOnceOrNoted) {
    for (const auto& [name, limits] : std::vector<std::pair<std::string, PmuLimits>>{
             {"amdzen4", amd(6)}, {"amdzen4", amd(5)}, {"skylakex", intel(4)}, {"icelakex", intel(8, true)}}) {
        const auto cpu = table(name);
        const auto made = plan(cpu, tree(cpu, 2), {limits});
        for (const auto& metric : tree(cpu, 2))
            EXPECT_NE(counted_at_once(cpu, made, metric), has_note(made, metric)) << name << " " << metric;
    }
}

TEST(Plan, AddingAMetricChangesNoOthersGroups) {
    for (const auto& [name, limits] : std::vector<std::pair<std::string, PmuLimits>>{
             {"amdzen4", amd(6)}, {"amdzen4", amd(5)}, {"skylakex", intel(4)}, {"icelakex", intel(8, true)}}) {
        const auto cpu = table(name);
        std::vector<std::string> names;
        for (const auto& metric : cpu.metrics) names.push_back(metric.name);
        const auto level2 = tree(cpu, 2);
        for (const auto& metric : level2) {
            // What counts together for a metric alone counts together, in one run, with another beside it.
            const auto alone = passes(plan(cpu, {metric}, {limits}));
            for (const auto& other :
                 {names.front(), names[names.size() / 2], names.back(), level2.front(), level2.back()}) {
                const auto both = passes(plan(cpu, {other, metric}, {limits}));
                for (const auto& events : alone)
                    EXPECT_TRUE(std::ranges::any_of(
                        both, [&](const auto& pass) { return std::ranges::includes(pass, events); }))
                        << name << ": " << metric << " with " << other;
            }
        }
    }
}

TEST(Plan, FurtherEventsAreCountedToo) {
    const auto zen4 = table("amdzen4");
    PlannedEvent clock{"task-clock", {}, false};
    clock.definition.pmu = "software";
    clock.definition.config = 1;
    auto cycles = events::resolve(zen4, "ls_not_halted_cyc");
    ASSERT_TRUE(cycles);
    const auto made =
        make_plan(zen4, {}, {clock, {"ls_not_halted_cyc", *cycles, false}}, {amd(6)}, constants(), Policy::passes);
    ASSERT_TRUE(made);
    ASSERT_EQ(made->passes.size(), 1u);
    EXPECT_EQ(groups(*made), (std::set<std::string>{"cpu: ls_not_halted_cyc", "software: task-clock"}));
}

TEST(Plan, FurtherTopdownEventGetsItsLeader) {
    const auto sapphire = table("sapphirerapids");
    auto event = events::resolve(sapphire, "topdown-retiring");
    ASSERT_TRUE(event) << event.error().what;
    const auto made = make_plan(sapphire, {}, {{"topdown-retiring", *event, false}}, {intel(8, true, true)},
                                constants(), Policy::passes);
    ASSERT_TRUE(made);
    EXPECT_EQ(groups(*made), (std::set<std::string>{"cpu: TOPDOWN.SLOTS topdown-retiring"}));
}

TEST(Plan, UnknownMetricIsBadUsage) {
    const auto zen4 = table("amdzen4");
    const auto made = make_plan(zen4, {"frontend_bond"}, {}, {amd(6)}, constants(), Policy::passes);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::bad_usage);
}

TEST(Plan, NothingAskedForIsAnEmptyPlan) {
    const auto zen4 = table("amdzen4");
    EXPECT_TRUE(plan(zen4, {}, {amd(6)}).passes.empty());
}

TEST(Plan, ModelCountsEverythingAtOnce) {
    PmuLimits plenty;
    plenty.general_counters = plenty.fixed_counters = 1 << 16;
    plenty.has_slots = plenty.has_level2_metrics = true;
    for (const char* name : {"skylakex", "icelakex", "sapphirerapids", "amdzen4", "neoverse-n1"}) {
        const auto cpu = table(name);
        const auto made = plan(cpu, tree(cpu, 2), {plenty});
        EXPECT_EQ(made.passes.size(), 1u) << name;
        EXPECT_TRUE(made.notes.empty()) << name;
    }
}

TEST(Plan, EveryEventHasItsKeyAndEncoding) {
    for (const char* target : {"sapphirerapids", "zen4", "neoverse-n1"}) {
        const auto cpu = table(target);
        const auto made = plan(cpu, tree(cpu, 2), {intel(8, true, true)});
        for (const auto& pass : made.passes)
            for (const auto& group : pass.groups)
                for (const auto& event : group.events) {
                    ASSERT_TRUE(event.key) << event.name;
                    EXPECT_EQ(*event.key, events::key_of(cpu, event.definition)) << event.name;
                    const record::Event described = describe(event);
                    EXPECT_EQ(described.key, event.key);
                    EXPECT_EQ(described.config, fmt::format("{:#x}", event.definition.config));
                }
    }
}

}  // namespace
}  // namespace tmaprobe::counters
