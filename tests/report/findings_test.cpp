#include "report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "record/json/file.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using ::testing::HasSubstr;

record::Record record_of(const std::string& name) {
    auto records = record::read_records(std::string(TMAPROBE_SOURCE_DIR "/tests/report/records/") + name + ".json");
    EXPECT_TRUE(records) << records.error().what;
    return records ? records->front() : record::Record{};
}

TEST(Verdict, FollowsTheMarkedPathToItsEnd) {
    const auto record = record_of("sha256_modelled");
    EXPECT_THAT(verdict(record, record.runs[0]),
                HasSubstr("bound by the core's execution, not memory: backend_bound_cpu takes 65.8%"));
    EXPECT_THAT(verdict(record, record.runs[0]), HasSubstr("modelled"));
}

TEST(Verdict, ChangesWithTheTree) {
    auto record = record_of("sha256_modelled");
    for (auto& metric : record.runs[0].metrics) {
        metric.bottleneck = metric.name == "frontend_bound";
        metric.says.clear();
    }
    EXPECT_THAT(verdict(record, record.runs[0]), HasSubstr("bound by the front end"));
    for (auto& metric : record.runs[0].metrics) metric.bottleneck = false;
    EXPECT_THAT(verdict(record, record.runs[0]), HasSubstr("Nothing stands out"));
    for (auto& metric : record.runs[0].metrics) metric.status = record::Status::unavailable;
    EXPECT_THAT(verdict(record, record.runs[0]), HasSubstr("not known"));
}

TEST(Verdict, SaysOfWhatCannotBeThatItCannotAndOfNothingElse) {
    auto record = record_of("sha256_modelled");
    for (const auto& [flag, cannot_be] : {std::pair{"above_one", true}, {"latency_from_table", false}}) {
        for (auto& metric : record.runs[0].metrics) metric.warnings = {flag};
        EXPECT_EQ(verdict(record, record.runs[0]).find("That cannot be") != std::string::npos, cannot_be) << flag;
    }
}

TEST(Verdict, TakesTheMetricsOwnAdvice) {
    auto record = record_of("sha256_modelled");
    for (auto& metric : record.runs[0].metrics)
        if (metric.name == "backend_bound_cpu") {
            metric.says = "one busy port";
            metric.next = "unroll";
        }
    EXPECT_THAT(verdict(record, record.runs[0]), HasSubstr("bound by one busy port"));
    const auto steps = next_steps(record, record.runs[0]);
    EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.what == "Unroll"; }));
}

std::string all_steps(const record::Record& record) {
    std::string text;
    const auto steps = next_steps(record, record.runs[0]);
    EXPECT_LE(steps.size(), 3u);
    for (const auto& step : steps) text += step.what + "|" + step.command + "\n";
    return text;
}

/// A modelled run bound by its front end, of whose slots so many are lost to fetching anew after mispredictions.
record::Record front_end_that_fetches_anew(double share) {
    auto record = record_of("sha256_modelled");
    for (auto& metric : record.runs[0].metrics) {
        metric.bottleneck = metric.name == "frontend_bound";
        metric.says.clear();
        if (metric.bottleneck) metric.value = 0.7, metric.next = "look at code size";
    }
    record.runs[0].extra.model.emplace().facts = {{"slots", 1000},
                                                  {"cycles", 200},
                                                  {"cycles_unknown_target", 10},
                                                  {"slots_by_cause_wrong_path", 190},
                                                  {"slots_by_cause_resteer", 1000 * share + 50}};
    return record;
}

TEST(Verdict, SaysWhatMispredictionsCostInAll) {
    const auto record = front_end_that_fetches_anew(0.6);
    EXPECT_THAT(verdict(record, record.runs[0]),
                HasSubstr("Mispredicted branches cost 79.0% of slots in all: 19.0% as bad speculation, 60.0% while"));
    EXPECT_THAT(all_steps(record), HasSubstr("Make branches predictable"));
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("Look at code size")));
}

TEST(Verdict, SendsToTheCodeWhereFewSlotsAreOfMispredictions) {
    const auto record = front_end_that_fetches_anew(0.1);
    EXPECT_THAT(all_steps(record), HasSubstr("Look at code size"));
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("Make branches predictable")));
}

TEST(NextSteps, NameTheWalkShareTheLevelAndTheEvent) {
    const std::string steps = all_steps(record_of("chase_4k"));
    EXPECT_THAT(steps, HasSubstr("dtlb_walk_cycles_share is 31.0% of cycles: --pages 4k,2m"));
    EXPECT_THAT(steps, HasSubstr("backend_bound_memory consists of: --level 3"));
    EXPECT_THAT(steps, HasSubstr("perf record -e cpu/config=0xa2d6/"));
}

TEST(NextSteps, DoNotSendWhoComparesPagesToCompareThem) {
    EXPECT_THAT(all_steps(record_of("chase_pages")), ::testing::Not(HasSubstr("--pages")));
}

TEST(NextSteps, FollowWhatTheAdviceIsAboutAndNotItsWords) {
    auto record = record_of("chase_pages");
    for (auto& metric : record.runs[0].metrics) {
        metric.next = "fewer entries for the same memory";
        metric.larger_pages = true;
    }
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("Fewer entries")));
    for (auto& metric : record.runs[0].metrics) metric.larger_pages = false;
    EXPECT_THAT(all_steps(record), HasSubstr("Fewer entries"));
}

TEST(NextSteps, WhoAskedForASourceIsNotSentToTheDoctor) {
    auto record = record_of("sha256_modelled");
    record.source.target = record.host.cpu_id;
    record.extra.why_source = "asked for";
    EXPECT_THAT(all_steps(record), HasSubstr("tmaprobe doctor"));
    record.extra.source_asked_for = true;
    record.extra.why_source = "words of another day";
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("tmaprobe doctor")));
}

TEST(NextSteps, SmallWalkSharesAreNoReason) {
    auto record = record_of("chase_4k");
    for (auto& metric : record.runs[0].metrics)
        if (metric.category == record::Category::tlb) metric.value = 0.01;
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("huge pages")));
}

TEST(NextSteps, WhoModelsMemoryByTheTablesIsSentToCalibrate) {
    auto record = record_of("chase_4k");
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("tmaprobe calibrate"))) << "it was counted";
    record.source.kind = record::SourceKind::model;
    record.source.target = record.host.cpu_id;
    EXPECT_THAT(all_steps(record), HasSubstr("tmaprobe calibrate"));
    record.source.target = "another CPU";
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("tmaprobe calibrate")));
    record.source.target = record.host.cpu_id;
    record.source.calibrated = "2026-11-23";
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("tmaprobe calibrate")));
}

TEST(NextSteps, AModelledRunIsNotSampled) {
    auto record = record_of("chase_4k");
    record.source.kind = record::SourceKind::model;
    EXPECT_THAT(all_steps(record), ::testing::Not(HasSubstr("perf record")));
}

TEST(Tree, EveryMetricOnceWhateverItsParents) {
    std::vector<record::Metric> metrics(4);
    metrics[0].name = metrics[1].parent = "a";
    metrics[1].name = metrics[0].parent = "b";
    metrics[2].name = metrics[2].parent = "self";
    metrics[3].name = "orphan";
    metrics[3].parent = "nowhere";
    for (auto& metric : metrics) metric.level = 2;
    const auto rows = tree_rows(metrics);
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0].metric->name, "orphan");
    EXPECT_EQ(rows[0].depth, 0);
}

TEST(Pages, WhatWasNotObtainedIsInTheLabel) {
    record::Run run;
    run.pages = record::Pages{record::PageKind::size_2m, {{"2m", 4 << 20}}, record::PageKind::none};
    EXPECT_EQ(pages_label(run), "2m");
    run.pages->obtained_bytes = {{"4k", 4 << 20}};
    EXPECT_EQ(pages_label(run), "2m (got 4k)");
    run.pages->obtained_bytes = {{"4k", 1 << 20}, {"2m", 3 << 20}};
    EXPECT_EQ(pages_label(run), "2m (75% of it)");
}

}  // namespace
}  // namespace tmaprobe::report
