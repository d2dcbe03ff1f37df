#include "report/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "report/formats.h"
#include "report/view.h"

namespace tmaprobe::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<record::Record> load(const std::string& name) {
    auto records = record::read_records(std::string(TMAPROBE_SOURCE_DIR "/tests/report/records/") + name + ".json");
    EXPECT_TRUE(records) << records.error().what;
    return records ? *records : std::vector<record::Record>{};
}

std::string written(const std::string& name, const std::string& format) {
    const auto text = render(load(name), format);
    EXPECT_TRUE(text) << text.error().what;
    return text.value_or("");
}

TEST(Writers, AnUnknownFormatIsBadUsageWithASuggestion) {
    const auto text = render({}, "htlm");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::bad_usage);
    EXPECT_EQ(text.error().hint, "did you mean 'html'?");
}

TEST(Writers, EveryFormatTakesEmptyMixedAndHostileRecords) {
    std::vector<record::Record> mixed;
    for (const char* name : {"sweep_pages", "pairs", "hostile", "replay_deep", "time_only"})
        for (auto& record : load(name)) mixed.push_back(std::move(record));
    mixed.push_back({});
    for (const auto& format : writer_formats()) {
        if (format == "html" && !html_built()) continue;
        EXPECT_TRUE(render(mixed, format)) << format;
        EXPECT_TRUE(render({}, format)) << format;
        EXPECT_TRUE(render({record::Record{}}, format)) << format;
    }
}

TEST(Writers, NoFormatLetsEscapesOrMarkupThrough) {
    for (const auto& format : writer_formats()) {
        if (format == "html" && !html_built()) continue;
        EXPECT_THAT(written("hostile", format), Not(HasSubstr("\x1b"))) << format;
    }
    EXPECT_THAT(written("hostile", "markdown"), Not(HasSubstr("<script")));
    if (html_built()) EXPECT_THAT(written("hostile", "html"), Not(HasSubstr("</script><script>alert")));
}

TEST(Writers, OneRecordAsJsonIsTheRecordItself) {
    const auto records = load("sha256_modelled");
    EXPECT_EQ(*render(records, "json"), record::serialize(records.front()));
    auto two = records;
    two.push_back(records.front());
    const auto read = record::parse_records(*render(two, "json"), "two.json");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->size(), 2u);
}

TEST(Csv, EveryRowHasEveryColumn) {
    for (const char* name : {"sha256_modelled", "sweep_pages", "pairs", "interference"}) {
        const std::string text = written(name, "csv");
        std::size_t columns = 0;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
            std::size_t commas = 0;
            bool quoted = false;
            for (std::size_t i = at; text[i] != '\n'; ++i) {
                if (text[i] == '"') quoted = !quoted;
                if (text[i] == ',' && !quoted) ++commas;
            }
            if (columns == 0) columns = commas;
            EXPECT_EQ(commas, columns) << text.substr(at, 120);
        }
    }
}

TEST(Csv, WhatASpreadsheetWouldRunIsDefused) {
    EXPECT_THAT(written("hostile", "csv"), HasSubstr(",'=cmd|"));
}

TEST(Csv, NoValueIsAnEmptyCell) {
    EXPECT_THAT(written("replay_deep", "csv"), HasSubstr("tma_branch_mispredicts,2,tma_bad_speculation,bad_speculation,,slots,,,,not_counted,"));
}

TEST(OpenMetrics, EndsAsItMustAndHasNoNaN) {
    auto records = load("sha256_modelled");
    records.front().runs.front().metrics.front().low = std::numeric_limits<double>::quiet_NaN();
    const std::string text = write_openmetrics(records);
    EXPECT_TRUE(text.ends_with("# EOF\n"));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(View, FoldsASweepIntoCurves) {
    const auto view = page_view(load("sweep_pages"));
    const auto& record = view["records"][0];
    EXPECT_TRUE(record["runs"].empty());
    ASSERT_EQ(record["curves"]["series"].size(), 2u);
    EXPECT_EQ(record["curves"]["series"][0]["label"], "4k");
    EXPECT_EQ(record["curves"]["series"][0]["points"].size(), 15u);
    EXPECT_EQ(record["curves"]["knees"].size(), 4u);
}

TEST(View, KeepsStatusBoundsAndShare) {
    const auto view = page_view(load("sha256_multiplexed"));
    const auto& metrics = view["records"][0]["runs"][0]["metrics"];
    const auto node = std::find_if(metrics.begin(), metrics.end(), [](const auto& metric) { return metric["name"] == "backend_bound_cpu"; });
    ASSERT_NE(node, metrics.end());
    EXPECT_EQ((*node)["value"], 0.658);
    EXPECT_EQ((*node)["low"], 0.628);
    EXPECT_EQ((*node)["status"], "measured");
    EXPECT_EQ((*node)["counted"], 0.2);
    EXPECT_EQ((*node)["bottleneck"], true);
}

}  // namespace
}  // namespace tmaprobe::report
