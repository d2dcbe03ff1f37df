#include <gmock/gmock.h>

#include <algorithm>

#include "counters/model/geometry.h"
#include "counters/model/mapping.h"
#include "counters/model/memory_system.h"
#include "tests/counters/model_fixture.h"

namespace tmaprobe::counters::model {
namespace {

class OnEveryFolder : public testing::TestWithParam<std::string> {};

Facts every_fact(const Geometry& geometry) {
    MemorySystem memory(geometry, [](std::uint64_t) { return std::uint64_t{4096}; }, {});
    Facts facts = memory.facts();
    for (const auto& [name, value] : core::named({})) facts[name] = value;
    return facts;
}

TEST_P(OnEveryFolder, TheDataFilesAreWholeAndKnowTheTree) {
    const auto table = events::load({}, GetParam());
    ASSERT_TRUE(table.has_value()) << table.error().what;
    const auto geometry = load_geometry({}, *table);
    ASSERT_TRUE(geometry.has_value()) << geometry.error().what;
    EXPECT_FALSE(geometry->core.llvm_cpu.empty());
    EXPECT_GT(geometry->l3.size_bytes, geometry->l2.size_bytes);
    EXPECT_GT(geometry->l3.latency, geometry->l2.latency);
    const auto mapping = load_mapping({}, *table);
    ASSERT_TRUE(mapping.has_value()) << mapping.error().what;
    EXPECT_THAT(unknown_facts(*mapping, every_fact(*geometry)), testing::IsEmpty());

    const Plan plan = plan_of(*table, tree_metrics(*table));
    std::vector<std::string> missing;
    for (const PlannedEvent& event : plan.passes[0].groups[0].events) {
        double value = 0;
        std::string why;
        // A hybrid's E-core is modelled by itself, and what a file gives a reason for is not modelled on purpose.
        if (event.definition.pmu == "cpu_atom" || mapping->reasons.contains(event.definition.name)) continue;
        if (!modelled_count(*mapping, event, every_fact(*geometry), value, why)) missing.push_back(event.name);
    }
    EXPECT_THAT(missing, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Folders, OnEveryFolder,
                         testing::ValuesIn(events::targets({}).value_or(std::vector<std::string>{})),
                         [](const auto& folder) {
                             std::string name = folder.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(Geometry, SaysWhatIsWrongWithAFile) {
    const auto problem = [](const char* text) {
        const auto parsed = parse_geometry(text, "x/geometry.json", "");
        return parsed ? std::string() : parsed.error().what;
    };
    EXPECT_THAT(problem("[1"), testing::HasSubstr("not a JSON object"));
    EXPECT_THAT(problem("{}"), testing::HasSubstr("describes no core"));
    EXPECT_THAT(problem(R"({"core": {"slot_width": "six"}})"), testing::HasSubstr("'slot_width' is no number"));
    EXPECT_THAT(problem(R"({"core": {"slot_width": 0}})"), testing::HasSubstr("a width of the core is 0"));
    EXPECT_THAT(problem(R"({"core": {}, "caches": [{"level": 1, "kind": "data", "size": "big"}]})"), testing::HasSubstr("no size"));
    EXPECT_THAT(problem(R"({"core": {}, "tlbs": [{"level": 1, "pages": 4}]})"), testing::HasSubstr("no list 'pages'"));
}

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
    const PlannedEvent of_the_small_cores = {"cpu_atom@TOPDOWN_RETIRING.ALL@", *event, false};
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
}  // namespace tmaprobe::counters::model
