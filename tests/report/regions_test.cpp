#include "report/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/formats.h"
#include "report/terminal.h"

namespace tmaprobe::report {
namespace {

using testing::HasSubstr;
using testing::Not;

record::Metric metric(const std::string& name, double value) {
    record::Metric metric;
    metric.name = name;
    metric.level = 1;
    metric.value = value;
    metric.low = value - 0.01;
    metric.high = value + 0.01;
    metric.unit = record::MetricUnit::slots;
    metric.status = record::Status::modelled;
    return metric;
}

record::Regions two_regions() {
    record::Regions regions;
    record::Region outer;
    outer.name = "outer <&>";
    outer.totals = record::RegionTotals{10, 0, 0, 5e6, 1e6, 1, 1};
    outer.cost = record::RegionCost{4e4, 2e4, 3, 0, 0.8, 0.7, 0.9, 0.1, 2, 1234.0};
    outer.metrics = {metric("retiring", 0.25), metric("backend_bound", 0.75)};
    record::Region inner;
    inner.name = "inner";
    inner.inside = 0;
    inner.totals = record::RegionTotals{100, 1000, 8'000'000, 4e6, 4e6, 2, 1};
    inner.cost = record::RegionCost{3e4, 1e4, 2, 0, 0.7, 0.6, 0.75, 0.7, 20, 500.0};
    inner.metrics = {metric("retiring", 0.5), metric("backend_bound", 0.5)};
    record::Region rare;
    rare.name = "rare";
    rare.kind = record::RegionKind::function;
    rare.reason = "no window of the model met it";
    regions.list = {outer, inner, rare};
    regions.outside_share = 0.2;
    return regions;
}

TEST(Regions, RatesAreOfWhatTheProgramSays) {
    const auto regions = two_regions();
    EXPECT_FALSE(ns_per_iteration(regions.list[0]));
    EXPECT_DOUBLE_EQ(*ns_per_iteration(regions.list[1]), 4000);
    EXPECT_DOUBLE_EQ(*bytes_per_second(regions.list[1]), 2e9);
    EXPECT_DOUBLE_EQ(*instructions_per_iteration(regions.list[1]), 50);
    EXPECT_FALSE(instructions_per_iteration(regions.list[2]));
}

TEST(Regions, ARowEachAndWhatIsInNone) {
    const auto rows = region_rows(two_regions());
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[1][0], "outer <&>");
    EXPECT_EQ(rows[1][1], "80.0% (70.0..90.0%)");
    EXPECT_EQ(rows[2][0], "  inner");
    EXPECT_EQ(rows[3][1], "none");
    EXPECT_EQ(rows[4][0], "in no region");
    EXPECT_EQ(rows[4][1], "20.0%");
}

TEST(Regions, ColumnsThatNobodyFillsAreLeftOut) {
    auto regions = two_regions();
    regions.list.erase(regions.list.begin() + 1);
    const auto rows = region_rows(regions);
    for (const auto& heading : rows.front()) {
        EXPECT_NE(heading, "rate");
        EXPECT_NE(heading, "threads");
    }
}

TEST(Regions, TreesSideBySide) {
    const auto rows = region_trees(two_regions());
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_THAT(rows[0], testing::ElementsAre("% of slots", "outer <&>", "inner"));
    EXPECT_THAT(rows[1], testing::ElementsAre("retiring", "25.0% (24.0..26.0%)", "50.0% (49.0..51.0%)"));
    EXPECT_THAT(region_reasons(two_regions()), testing::ElementsAre("rare has no tree: no window of the model met it"));
}

TEST(Regions, RegionsInOneAnotherInACircleEnd) {
    auto regions = two_regions();
    regions.list[0].inside = 1;
    regions.list[1].inside = 0;
    regions.list[2].inside = 77;
    EXPECT_EQ(region_rows(regions).size(), 5u);
}

TEST(Regions, StandInEveryReport) {
    record::Record record;
    record.runs.emplace_back();
    record.runs.front().kernel = "command";
    record.runs.front().extra.regions = two_regions();
    EXPECT_THAT(render_terminal(record, {}), HasSubstr("inner"));
    const std::string markdown = regions_markdown(record.runs.front());
    EXPECT_THAT(markdown, HasSubstr("### Regions"));
    const std::string html = region_sections({record});
    EXPECT_THAT(html, HasSubstr("outer &lt;&amp;&gt;"));
    EXPECT_THAT(html, Not(HasSubstr("outer <&>")));
    const std::string metrics = write_openmetrics({record});
    EXPECT_THAT(metrics,
                HasSubstr("tmaprobe_region_entries{region=\"inner\",source=\"none\",kernel=\"command\"} 100\n"));
    EXPECT_THAT(metrics, HasSubstr("tmaprobe_region_time_ratio{region=\"inner\""));
    EXPECT_THAT(metrics, HasSubstr("node=\"retiring\""));
    record.runs.front().extra.regions->list.clear();
    EXPECT_THAT(render_terminal(record, {}), HasSubstr("none was entered"));
    record.runs.front().extra.regions.reset();
    EXPECT_EQ(region_sections({record}), "");
}

}  // namespace
}  // namespace tmaprobe::report
