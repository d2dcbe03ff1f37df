#include "report/interval_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tmaprobe::report {
namespace {

std::vector<record::Metric> tree(double retiring) {
    record::Metric metric;
    metric.name = "retiring";
    metric.level = 1;
    metric.unit = record::MetricUnit::slots;
    metric.status = record::Status::measured;
    metric.value = metric.low = metric.high = retiring;
    record::Metric missing = metric;
    missing.name = "frontend_bound";
    missing.status = record::Status::not_counted;
    return {metric, missing};
}

std::vector<record::Event> counts() {
    return {{"cycles", "cpu", "", {12345, 12345, 10, 10}, 0, 0, {}, {}, record::Note::none},
            {"page-faults", "software", "", {3, 3, 10, 10}, 0, 0, {}, {}, record::Note::none}};
}

TEST(IntervalRows, OfATableAreBelowAHeadingThatComesAgain) {
    IntervalRows rows(RowForm::table, {});
    EXPECT_EQ(rows.row(0.1, tree(0.25), counts(), {}),
              "  seconds  retiring  frontend_bound\n    0.100     25.0%               -\n");
    EXPECT_EQ(rows.row(0.2, tree(0.5), counts(), {"cycles"}), "    0.200     50.0%               -     12.3k\n");
    std::string text;
    for (int i = 0; i < 19; ++i) text = rows.row(1, tree(0.5), {}, {});
    EXPECT_THAT(text, ::testing::StartsWith("  seconds"));
}

TEST(IntervalRows, TooWideForATableHaveALineForEachValue) {
    TerminalStyle narrow;
    narrow.width = 40;
    auto metrics = tree(0.25);
    metrics[0].name = "a_node_with_a_long_name_of_its_own";
    EXPECT_EQ(IntervalRows(RowForm::table, narrow).row(0.1, metrics, {}, {}),
              "    0.100         25.0%  a_node_with_a_long_name_of_its_own\n    0.100             -  frontend_bound\n");
}

TEST(IntervalRows, WithoutMetricsHaveAllCounts) {
    EXPECT_EQ(IntervalRows(RowForm::csv, {}).row(0.1, {}, counts(), {}),
              "at_seconds,name,value,unit,status\n0.1,cycles,12345,count,measured\n0.1,page-faults,3,count,measured\n");
}

TEST(IntervalRows, AsJsonAreALineEach) {
    const std::string line = IntervalRows(RowForm::json_lines, {}).row(0.1, tree(0.25), {}, {});
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["schema"], "tmaprobe.interval/1");
    EXPECT_EQ(json["values"]["retiring"], 0.25);
    EXPECT_TRUE(json["values"]["frontend_bound"].is_null());
}

}  // namespace
}  // namespace tmaprobe::report
