#include "report/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "record/json/file.h"
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

nlohmann::json view_of(const Records& records) { return nlohmann::json::parse(page_view(records)); }

std::string written(const std::string& name, const std::string& format) {
    const auto text = render(load(name), format);
    EXPECT_TRUE(text) << text.error().what;
    return text.value_or("");
}

/// What holds nothing but places in the code has its own tests.
bool is_of_places(const std::string& format) {
    return format == "folded" || format == "speedscope" || format == "callgrind" || format == "pprof";
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
        if (is_of_places(format)) continue;
        EXPECT_TRUE(render(mixed, format)) << format;
        EXPECT_TRUE(render({}, format)) << format;
        EXPECT_TRUE(render({record::Record{}}, format)) << format;
    }
}

TEST(Writers, NoFormatLetsEscapesOrMarkupThrough) {
    for (const auto& format : writer_formats()) {
        if (is_of_places(format)) continue;
        EXPECT_THAT(written("hostile", format), Not(HasSubstr("\x1b"))) << format;
    }
    EXPECT_THAT(written("hostile", "markdown"), Not(HasSubstr("<script")));
    EXPECT_THAT(written("hostile", "html"), Not(HasSubstr("</script><script>alert")));
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

TEST(Csv, WhatASpreadsheetWouldRunIsDefused) { EXPECT_THAT(written("hostile", "csv"), HasSubstr(",'=cmd|")); }

TEST(Csv, NoValueIsAnEmptyCell) {
    EXPECT_THAT(written("replay_deep", "csv"),
                HasSubstr("tma_branch_mispredicts,2,tma_bad_speculation,bad_speculation,,slots,,,,not_counted,"));
}

TEST(OpenMetrics, EndsAsItMustAndHasNoNaN) {
    auto records = load("sha256_modelled");
    records.front().runs.front().metrics.front().low = std::numeric_limits<double>::quiet_NaN();
    const std::string text = write_openmetrics(records);
    EXPECT_TRUE(text.ends_with("# EOF\n"));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(OpenMetrics, WhatFollowsFromTheOptionsIsNoLabel) {
    record::Record record;
    record::Run run;
    run.kernel = "chase";
    run.parameters.options = {{"chains", "4"}, {"places", "64"}};
    run.parameters.derived = {"places"};
    run.time.known = true;
    run.time.ns_per_op = {5, 12, 11, 13, 0.1, 11.5, 12.5};
    record.runs.push_back(run);
    const std::string text = write_openmetrics({record});
    EXPECT_THAT(text, HasSubstr("options=\"chains=4\""));
    EXPECT_THAT(text, Not(HasSubstr("places")));
}

TEST(View, MarksTheDisturbedPointsOfASweep) {
    auto records = load("sweep_pages");
    EXPECT_FALSE(view_of(records)["records"][0]["curves"]["series"][0]["points"].contains("doubtful"));
    records.front().runs.front().time.clean = 1;
    records.front().runs.front().time.disturbed = 8;
    const auto points = view_of(records)["records"][0]["curves"]["series"][0]["points"];
    EXPECT_EQ(points["doubtful"][0], 1);
    EXPECT_EQ(points["doubtful"][1], 0);
}

TEST(View, FoldsASweepIntoCurves) {
    const auto view = view_of(load("sweep_pages"));
    const auto& record = view["records"][0];
    EXPECT_TRUE(record["runs"].empty());
    ASSERT_EQ(record["curves"]["series"].size(), 2u);
    EXPECT_EQ(record["curves"]["series"][0]["label"], "4k");
    EXPECT_EQ(record["curves"]["series"][0]["points"]["x"].size(), 15u);
    EXPECT_EQ(record["curves"]["series"][0]["points"]["x"][0], 16384);
    for (const auto& [name, lines] : record["curves"]["metrics"].items())
        for (const auto& line : lines) EXPECT_EQ(line["values"].size(), 15u) << name;
    EXPECT_EQ(record["curves"]["knees"].size(), 4u);
}

/// Two states of an interference record, with resctrl's monitors; one of them was not counted in the second.
record::Record monitored() {
    record::Record record;
    record.experiment = record::Experiment::interference;
    for (const char* state : {"alone", "l3=0x3 (2 of 11 bits)"}) {
        record::Run run;
        run.kernel = "chase";
        run.time.known = true;
        run.time.ns_per_op = {10, 12, 11, 13, 0.1, 11.5, 12.5};
        run.extra.state = record::InterferenceState{state, {}, {}, "", {}, {}, {}};
        const bool alone = state == std::string("alone");
        run.events.push_back(
            {"llc_occupancy", "resctrl", "", {3145728, 3145728, 1, 1}, 0, 0, {}, {}, record::Note::none});
        run.events.push_back({"mbm_total_bytes",
                              "resctrl",
                              "",
                              {2e9, 2000000000, 500000000, alone ? 500000000u : 0u},
                              0,
                              0,
                              {},
                              {},
                              alone ? record::Note::none : record::Note::not_counted});
        if (!alone) {
            run.extra.state->against_alone = 0.25;
            run.extra.state->against_alone_low = 0.2;
            run.extra.state->against_alone_high = 0.31;
            run.extra.allocation = record::Allocation{record::AllocationControl::l3, 2, "bits", 11};
        }
        record.runs.push_back(std::move(run));
    }
    return record;
}

TEST(Monitors, EveryFormatHasThem) {
    const std::string csv = *render({monitored()}, "csv"), markdown = *render({monitored()}, "markdown"),
                      metrics = *render({monitored()}, "openmetrics");
    EXPECT_THAT(csv, HasSubstr("llc_occupancy,0,,resctrl,,bytes,3145728,,,measured"));
    EXPECT_THAT(csv, HasSubstr("mbm_total_bytes,0,,resctrl,,bytes_per_second,4000000000,,,measured"));
    EXPECT_THAT(csv, HasSubstr("mbm_total_bytes,0,,resctrl,,bytes_per_second,,,,not_counted"));
    EXPECT_THAT(csv, HasSubstr("against_alone,0,,interference,,ratio,0.25,0.2,0.31,measured"));
    EXPECT_THAT(markdown, HasSubstr("| alone | 12 | 11..13 | - | - | - | 3M | 4.00G |"));
    EXPECT_THAT(markdown, HasSubstr("| +25.0% | +20.0%..+31.0% | 3M | not counted |"));
    EXPECT_THAT(metrics, HasSubstr("tmaprobe_llc_occupancy_bytes{kernel=\"chase\",state=\"alone\"} 3145728\n"));
    EXPECT_THAT(metrics, HasSubstr("monitor=\"mbm_total_bytes\",kernel=\"chase\",state=\"alone\"} 4000000000\n"));
    EXPECT_THAT(metrics, HasSubstr("tmaprobe_against_alone_high_ratio{kernel=\"chase\",state=\"l3=0x3 (2 of 11 "
                                   "bits)\"} 0.31\n"));
    const auto run = view_of({monitored()})["records"][0]["runs"][1];
    EXPECT_EQ(run["monitors"][0]["text"], "3M");
    EXPECT_EQ(run["allocation"]["value"], 2);
    EXPECT_EQ(run["change"][1], 0.2);
}

TEST(View, KeepsStatusBoundsAndShare) {
    const auto view = view_of(load("sha256_multiplexed"));
    const auto& metrics = view["records"][0]["runs"][0]["metrics"];
    const auto node = std::find_if(metrics.begin(), metrics.end(),
                                   [](const auto& metric) { return metric["name"] == "backend_bound_cpu"; });
    ASSERT_NE(node, metrics.end());
    EXPECT_EQ((*node)["value"], 0.658);
    EXPECT_EQ((*node)["low"], 0.628);
    EXPECT_EQ((*node)["status"], "measured");
    EXPECT_EQ((*node)["counted"], 0.2);
    EXPECT_EQ((*node)["bottleneck"], true);
}

}  // namespace
}  // namespace tmaprobe::report
