#include "experiments/further_events.h"

#include <gtest/gtest.h>

#include "events/table.h"

namespace tmaprobe::experiments {
namespace {

std::vector<std::string> names(const std::string& target, const std::vector<std::string>& spellings) {
    const auto table = events::load(events::Library{}, target);
    EXPECT_TRUE(table);
    const auto further = further_events(*table, spellings);
    EXPECT_TRUE(further) << further.error().what;
    std::vector<std::string> names;
    if (further)
        for (const auto& event : further->events) names.push_back(event.definition.pmu + " " + event.name);
    return names;
}

TEST(FurtherEvents, OfAHybridAreCountedOnEveryPmuThatHasThem) {
    EXPECT_EQ(names("alderlake", {"instructions", "cycles"}),
              (std::vector<std::string>{"cpu_core cpu_core/instructions/", "cpu_atom cpu_atom/instructions/",
                                        "cpu_core cpu_core/cycles/", "cpu_atom cpu_atom/cycles/"}));
    EXPECT_EQ(names("alderlake", {"cpu_atom/instructions/"}).size(), 1u);
}

TEST(FurtherEvents, OfOnePmuKeepTheirSpelling) {
    EXPECT_EQ(names("skylake", {"instructions"}), std::vector<std::string>{" instructions"});
}

TEST(FurtherEvents, AreReadAsPerfReadsThem) {
    EXPECT_EQ(names("skylake", {"instructions,cycles:u", "cpu/event=0x3c,umask=0x0/,{branches,branch-misses}:S"}),
              (std::vector<std::string>{" instructions", " cycles:u", " cpu/event=0x3c,umask=0x0/", " branches",
                                        " branch-misses"}));
    EXPECT_EQ(names("skylake", {"{branches,branch-misses:u}:k"}),
              (std::vector<std::string>{" branches:k", " branch-misses:uk"}));
    EXPECT_EQ(names("amdzen4", {"L1-dcache-load-misses,LLC-loads:u,stalled-cycles-backend"}),
              (std::vector<std::string>{"hw_cache L1-dcache-load-misses", "hw_cache LLC-loads:u",
                                        "hardware stalled-cycles-backend"}));
}

TEST(FurtherEvents, WhatCountingCannotDoIsRefusedWithTheReason) {
    const auto table = events::load(events::Library{}, "skylake");
    ASSERT_TRUE(table);
    for (const auto& [spelling, word] : std::vector<std::pair<std::string, std::string>>{
             {"cycles:pp", "samples"}, {"cycles:P", "samples"}, {"{cycles", "complete"}, {"nonesuch", "no event"}}) {
        const auto refused = further_events(*table, {spelling});
        ASSERT_FALSE(refused) << spelling;
        EXPECT_NE(refused.error().what.find(word), std::string::npos) << refused.error().what;
    }
    EXPECT_TRUE(further_events(*table, {"cycles:ukGHD"}));
}

TEST(FurtherEvents, OfOneGroupCountTogether) {
    const auto table = events::load(events::Library{}, "skylake");
    ASSERT_TRUE(table);
    const auto further = further_events(*table, {"{branches,branch-misses}", "cycles"});
    ASSERT_TRUE(further);
    ASSERT_EQ(further->together.size(), 1u);
    counters::Plan plan;
    plan.passes.emplace_back();
    for (const auto& event : further->events) plan.passes[0].groups.push_back({"cpu", {event}});
    keep_together(further->together, plan);
    ASSERT_EQ(plan.passes[0].groups.size(), 2u);
    EXPECT_EQ(plan.passes[0].groups[0].events.size(), 2u);
    EXPECT_EQ(plan.passes[0].groups[1].events[0].name, "cycles");
}

TEST(FurtherEvents, InUnitsAreMetrics) {
    record::Event counted;
    counted.name = "power/energy-pkg/";
    counted.reading = {4e9, 4'000'000'000, 1000, 1000};
    record::Event not_counted = counted;
    not_counted.name = "power/energy-ram/";
    not_counted.reading = {};
    not_counted.note = record::Note::not_supported;
    const auto metrics =
        in_units({{counted.name, {2.5e-10, "Joules"}}, {not_counted.name, {1, "Joules"}}}, {counted, not_counted});
    ASSERT_EQ(metrics.size(), 2u);
    EXPECT_EQ(metrics[0].name, "power/energy-pkg/ in Joules");
    EXPECT_DOUBLE_EQ(metrics[0].value, 1);
    EXPECT_EQ(metrics[1].status, record::Status::not_counted);
}

}  // namespace
}  // namespace tmaprobe::experiments
