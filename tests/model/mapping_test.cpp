#include <gmock/gmock.h>

#include <algorithm>

#include "model/mapping.h"

#include "events/model_tree.h"
#include "model/memory_system.h"
#include "model/modelled_cpu.h"
#include "tests/model/fixture.h"

namespace tmaprobe::model {
namespace {

class OnEveryFolder : public testing::TestWithParam<std::string> {};

Facts every_fact(const ModelledCpu& geometry) {
    MemorySystem memory(geometry, [](std::uint64_t) { return std::uint64_t{4096}; }, {});
    Facts facts = memory.facts();
    for (const auto& [name, value] : core::named({})) facts[name] = value;
    return facts;
}

TEST_P(OnEveryFolder, TheDataFilesAreWholeAndKnowTheTree) {
    const auto table = events::load({}, GetParam());
    ASSERT_TRUE(table.has_value()) << table.error().what;
    const auto geometry = load_modelled_cpu({}, *table);
    ASSERT_TRUE(geometry.has_value()) << geometry.error().what;
    EXPECT_FALSE(geometry->core.llvm_cpu.empty());
    EXPECT_GT(geometry->l3.size_bytes, geometry->l2.size_bytes);
    EXPECT_GT(geometry->l3.latency, geometry->l2.latency);
    const auto mapping = load_mapping({}, *table);
    ASSERT_TRUE(mapping.has_value()) << mapping.error().what;
    EXPECT_THAT(unknown_facts(*mapping, every_fact(*geometry)), testing::IsEmpty());

    const counters::Plan plan = plan_of(*table, tree_metrics(*table));
    std::vector<std::string> missing;
    for (const counters::PlannedEvent& event : plan.passes[0].groups[0].events) {
        double value = 0;
        std::string why;
        // A hybrid's E-core is modelled by itself, and what a file gives a reason for is not modelled on purpose.
        if (event.definition.pmu == "cpu_atom" || mapping->reasons.contains(event.definition.name)) continue;
        if (!modelled_count(*mapping, event, every_fact(*geometry), value, why)) missing.push_back(event.name);
    }
    EXPECT_THAT(missing, testing::IsEmpty());

    metrics::Constants constants;
    constants.cpu_id = table->cpu_id;
    constants.values = {
        {"#core_wide", 0}, {"#smt_on", 0}, {"#slots", table->slots_per_cycle.value_or(1)}, {"#has_pmem", 0}};
    events::Table modelled = *table;
    events::remove_own_estimates(modelled);
    if (!events::has_tree(modelled)) ASSERT_TRUE(events::add_model_tree({}, modelled).has_value());
    const auto levels = levels_modelled({}, modelled, constants);
    ASSERT_TRUE(levels.has_value()) << levels.error().what;
    // Two levels, or one where the vendor publishes no more.
    int deepest = 0;
    for (const auto& metric : modelled.metrics)
        if (metric.pmu != "cpu_atom") deepest = std::max(deepest, metric.level);
    EXPECT_EQ(*levels, std::min(deepest, 2));
}

INSTANTIATE_TEST_SUITE_P(Folders, OnEveryFolder,
                         testing::ValuesIn(events::targets({}).value_or(std::vector<std::string>{})),
                         [](const auto& folder) {
                             std::string name = folder.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

struct Lacking {
    std::string text;
    ErrorCode code;
    const char* said;
};

class LackingGeometry : public testing::TestWithParam<Lacking> {};

TEST_P(LackingGeometry, IsRefusedWithWhatTheModelNeeds) {
    const auto cpu = events::parse_cpu_geometry(GetParam().text, "x/geometry.json");
    ASSERT_TRUE(cpu.has_value()) << cpu.error().what;
    const auto modelled = modelled_cpu(*cpu, "x/geometry.json", "");
    ASSERT_FALSE(modelled.has_value());
    EXPECT_EQ(modelled.error().code, GetParam().code);
    EXPECT_THAT(modelled.error().what, testing::HasSubstr(GetParam().said));
}

std::string with_tlb(const char* tlb) {
    return R"({"core": {}, "caches": [{"level": 1, "kind": "data", "size": "32K", "ways": 8},
                                      {"level": 2, "kind": "unified", "size": "1M", "ways": 8}],
               "tlbs": [)" +
           std::string(tlb) + "]}";
}

INSTANTIATE_TEST_SUITE_P(
    Each, LackingGeometry,
    testing::Values(Lacking{"{}", ErrorCode::unavailable, "describes no core"},
                    Lacking{R"({"core": {}})", ErrorCode::bad_input, "no first- or second-level cache"},
                    Lacking{R"({"core": {}, "caches": [{"level": 1, "kind": "data", "size": "32K"}]})",
                            ErrorCode::bad_input, "a cache has no ways"},
                    Lacking{with_tlb(R"({"level": 1, "kind": "data", "pages": ["4k"], "entries": 0, "ways": 4})"),
                            ErrorCode::bad_input, "a TLB has no entries or no ways"},
                    Lacking{with_tlb(R"({"level": 1, "kind": "data", "pages": ["4k"], "entries": 64})"),
                            ErrorCode::bad_input, "a TLB has no entries or no ways"}));

TEST(ModelSource, NamesWhatItCoversWhenATargetIsNotCovered) {
    auto table = events::load({}, "haswell");
    ASSERT_TRUE(table.has_value());
    table->folder = "nosuchcore";
    const auto source = make_source({}, *table, host_of_test(), {});
    ASSERT_FALSE(source.has_value());
    EXPECT_EQ(source.error().code, ErrorCode::unavailable);
    EXPECT_THAT(source.error().hint, testing::HasSubstr("cascadelakex"));
}

TEST(Mapping, AHybridsSmallCoresAreNotGivenTheLargeOnesCounts) {
    const auto table = events::load({}, "alderlake");
    ASSERT_TRUE(table.has_value());
    const auto mapping = load_mapping({}, *table);
    ASSERT_TRUE(mapping.has_value());
    double value = 0;
    std::string why;
    const auto event = events::resolve(*table, "cpu_atom@TOPDOWN_RETIRING.ALL@");
    ASSERT_TRUE(event.has_value());
    const counters::PlannedEvent of_the_small_cores = {"cpu_atom@TOPDOWN_RETIRING.ALL@", *event, false};
    EXPECT_FALSE(modelled_count(*mapping, of_the_small_cores, {{"uops", 1}}, value, why));
    EXPECT_THAT(why, testing::HasSubstr("E-core"));
}

TEST(ModelSource, RefusesCodeOfAnotherArchitecture) {
    const bool arm = host_of_test().architecture == "aarch64";
    const auto table = events::load({}, arm ? "cascadelakex" : "neoverse-n1");
    ASSERT_TRUE(table.has_value());
    const auto source = make_source({}, *table, host_of_test(), {});
    ASSERT_FALSE(source.has_value());
    EXPECT_EQ(source.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace tmaprobe::model
