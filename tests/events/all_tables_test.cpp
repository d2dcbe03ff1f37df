#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "events/table.h"
#include "metrics/expression.h"
#include "metrics/formulas.h"

namespace tmaprobe::events {
namespace {

std::vector<std::string> all_targets(const Library& library) {
    const auto names = targets(library);
    EXPECT_TRUE(names) << names.error().what;
    return names.value_or(std::vector<std::string>{});
}

metrics::Constants ordinary_machine() {
    metrics::Constants constants;
    constants.values = {{"#smt_on", 1},     {"#core_wide", 0},        {"#slots", 8},
                        {"#num_cpus", 8},   {"#num_cores", 4},        {"#num_packages", 1},
                        {"#num_dies", 1},   {"#num_cpus_online", 8},  {"#has_pmem", 0},
                        {"#target_cpu", 1}, {"#system_tsc_freq", 2e9}};
    return constants;
}

class EmbeddedTable : public testing::TestWithParam<std::string> {};

TEST_P(EmbeddedTable, EveryExpressionParsesAndEveryEventResolves) {
    const auto table = load(Library{}, GetParam());
    ASSERT_TRUE(table) << table.error().what;
    EXPECT_FALSE(table->title.empty());
    EXPECT_FALSE(table->source.empty());
    ASSERT_FALSE(table->metrics.empty());
    for (const auto& metric : table->metrics) {
        EXPECT_TRUE(metrics::Expression::parse(metric.expression)) << metric.name;
        if (!metric.threshold.empty()) {
            EXPECT_TRUE(metrics::Expression::parse(metric.threshold)) << metric.name;
        }
        EXPECT_FALSE(metric.description.empty()) << metric.name;
    }
    const auto formulas = metrics::Formulas::compile(table->metrics, {});
    ASSERT_TRUE(formulas) << formulas.error().what;
    for (const double smt : {0.0, 1.0}) {
        auto constants = ordinary_machine();
        constants.values["#smt_on"] = smt;
        for (const std::string& event : formulas->events_needed(constants)) {
            const auto definition = resolve(*table, event);
            EXPECT_TRUE(definition) << event << ": " << definition.error().what;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddedTable, testing::ValuesIn(all_targets(Library{})), [](const auto& info) {
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

/// The tables of a kernel's source package, where setup.sh --test put them.
std::optional<std::filesystem::path> upstream_tree() {
    const auto tree = std::filesystem::path(TMAPROBE_SOURCE_DIR) / "third_party/pmu-events/arch";
    if (std::filesystem::exists(tree / "x86/mapfile.csv")) return tree;
    return std::nullopt;
}

TEST(UpstreamTree, EveryMetricOfEveryCpuCompiles) {
    const char* given = std::getenv("TMAPROBE_PMU_EVENTS");
    const auto tree = given ? std::optional<std::filesystem::path>(given) : upstream_tree();
    if (!tree) GTEST_SKIP() << "third_party/pmu-events is missing: third_party/setup.sh --test extracts it";
    const Library library{tree};
    const auto names = all_targets(library);
    EXPECT_GT(names.size(), 60u);
    std::size_t metrics_seen = 0;
    std::set<std::string> unresolved;
    for (const std::string& name : names) {
        const auto table = load(library, name);
        ASSERT_TRUE(table) << name << ": " << table.error().what;
        EXPECT_FALSE(table->events.empty() && table->metrics.empty()) << name;
        metrics_seen += table->metrics.size();
        const auto formulas = metrics::Formulas::compile(table->metrics, {});
        ASSERT_TRUE(formulas) << name << ": " << formulas.error().what;
        for (const auto& metric : table->metrics) {
            if (metric.level == 0) continue;
            const auto needed = metrics::events_needed(table->metrics, {metric.name}, ordinary_machine());
            ASSERT_TRUE(needed);
            for (const std::string& event : *needed)
                if (!resolve(*table, event)) unresolved.insert(name + " " + event);
        }
    }
    EXPECT_GT(metrics_seen, 2000u);
    // Faults of the 6.1 tree itself: its metrics name events that none of its files defines.
    unresolved.erase("alderlake MEM_BOUND_STALLS_AT_RET_CORRECTION");
    unresolved.erase("broadwellde OFFCORE_RESPONSE.DEMAND_RFO.L3_HIT.SNOOP_HITM");
    EXPECT_THAT(unresolved, testing::IsEmpty());
}

}  // namespace
}  // namespace tmaprobe::events
