// Records as JSON, looked at with an independent library.
#include "record/json/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace tmaprobe::record {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A record that uses every field, so that a forgotten one shows in the round trip.
Record full_record() {
    Record record;
    record.tool.version = "0.1.0";
    record.experiment = Experiment::sweep;
    record.command_line = "tmaprobe sweep --kernel chase";
    record.started = "2026-01-02T03:04:05Z";
    record.host.cpu_id = "AuthenticAMD-25-17-1";
    record.host.cpu_model = "EPYC";
    record.host.kernel = "6.1.0";
    record.host.hypervisor = "KVM";
    record.host.logical_cpus = 2;
    record.host.perf_event_paranoid = 2;
    record.host.caches = {{1, "data", 49152, 64, 12, 2, "cpuid 4"}};
    record.host.tlbs = {{2, "unified", 4096, 2048, -1, "cpuid 18h"}};
    record.host.pmu = HostPmu{false, "a guest without one"};
    record.source = {SourceKind::perf, "AuthenticAMD-25-17-1", "the PMU counts"};
    Run run;
    run.kernel = "chase";
    run.variant = "plain";
    run.parameters.size_bytes = 16384;
    run.parameters.cpus = {1};
    run.parameters.options = {{"chains", "4"}, {"places", "64"}};
    run.parameters.derived = {"places"};
    run.pages = Pages{PageKind::size_2m, {{"4k", 4096}, {"2m", 2097152}}, PageKind::size_4k};
    run.time.known = true;
    run.time.operation = "load";
    run.time.ns_per_op = {5, 1.5, 1.25, 2, 0.125, 1.375, 1.75};
    run.time.bytes_per_second = {5, 4e9, 3e9, 5e9, 1e8, 3.5e9, 4.5e9};
    run.time.cycles_per_op = {5, 4, 4, 5, 0.25, 4, 4.5};
    run.time.cycles_per_byte = 0.5;
    run.time.cycles_source = "counted";
    run.time.clean = 5;
    run.time.disturbed = 1;
    Event event;
    event.name = "ls_l1_d_tlb_miss.all";
    event.pmu = "cpu";
    event.config = "0xff45";
    event.reading = {1000, 500, 2000, 1000};
    event.pass = 1;
    event.group = 2;
    event.low = 900;
    event.high = 1100;
    event.note = Note::wrapped;
    run.events = {event};
    Metric metric;
    metric.name = "backend_bound";
    metric.level = 1;
    metric.parent = "";
    metric.category = Category::backend;
    metric.subcategory = "core";
    metric.says = "the core";
    metric.next = "unroll";
    metric.value = 0.675;
    metric.unit = MetricUnit::slots;
    metric.low = 0.66;
    metric.high = 0.69;
    metric.status = Status::measured;
    metric.over_threshold = true;
    metric.bottleneck = true;
    metric.counted_share = 0.5;
    metric.description = "waits";
    metric.formula = "a / b";
    metric.warnings = {"above_one"};
    Metric missing;
    missing.name = "backend_bound_memory";
    missing.level = 2;
    missing.parent = "backend_bound";
    missing.status = Status::not_counted;
    missing.reason = "the event never ran";
    run.metrics = {metric, missing};
    run.extra.series = {{0.5, {{"backend_bound", 0.5}, {"backend_bound_memory", std::nullopt}}, {}}};
    run.extra.repetitions = {
        {1.5, 1.4, false, DisturbanceCause::stolen, 0.1, "the hypervisor took the CPU away", 3e9, {}, {}, {}}};
    run.extra.state = InterferenceState{"with neighbour", {1.5, 1.6}, 2, "", 0.1, 0.05, 0.15};
    record.runs = {run, run};
    record.runs[1].pages.reset();
    record.runs[1].time = {};
    record.runs[1].time.reason = "the CPU lacks sha_ni";
    record.warnings = {{"noisy_machine", "the spread is 12%", "stop other work"}};
    record.partial = true;
    record.extra.knees = {{524288, 1.3, "L2 cache", KneeKind::found, PageKind::size_4k}};
    record.extra.table = UsedTable{"amdzen3", "Zen 3", "pmu-events", TreeOwner::tmaprobe};
    record.extra.comparison = {"a sentence",
                               Comparison{"4k", "2m", "chase", "2m is faster.", {}, {"a note"}, ComparedTime{}}};
    return record;
}

json to_json(const Record& record) { return json::parse(serialize(record)); }

Result<Record> from_json(const json& document) {
    auto records = TRY(parse_records(document.dump(), "r.json"));
    return std::move(records.front());
}

json with(const std::string& pointer, const json& value) {
    json document = to_json(full_record());
    document[json::json_pointer(pointer)] = value;
    return document;
}

std::string error_of(const json& document) {
    const auto record = from_json(document);
    constexpr std::string_view file = "r.json: ";
    if (record) return "no error";
    const std::string& what = record.error().what;
    return what.starts_with(file) ? what.substr(file.size()) : what;
}

TEST(Record, EveryFieldSurvivesARoundTrip) {
    const json written = to_json(full_record());
    const auto read = from_json(written);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(to_json(*read), written);
    EXPECT_EQ(read->runs[0].events[0].reading.raw, 500u);
    EXPECT_EQ(read->runs[0].metrics[0].high, 0.69);
    EXPECT_EQ(read->runs[0].pages->obtained_bytes.at("2m"), 2097152u);
    EXPECT_FALSE(read->runs[1].pages);
    EXPECT_FALSE(read->runs[1].time.known);
    EXPECT_TRUE(read->partial);
}

TEST(Record, PlacesInTheCodeSurviveARoundTrip) {
    Where where;
    where.slot_width = 6;
    where.slots = {{"retiring", 4}, {"dram", 2.5}};
    CodePlace line{"/usr/bin/p", "twice", "main", "/src/p.c", 2, 3, 0x1234, {}, where.slots, 0.75, 0.5, 1};
    where.functions = where.lines = {line};
    line.instruction = "movq (%rax), %rax";
    where.instructions = {line};
    where.modules = {{"[vdso]", {}, {}, {}, 0, 0, 0, {}, {{"lock", 1}}, 0.25, 0, 0.5}};
    where.further_lines = {{"lock", 1}};
    Record record = full_record();
    record.runs[0].extra.where = where;
    const json written = to_json(record);
    const auto read = from_json(written);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(to_json(*read), written);
    const auto& again = *read->runs[0].extra.where;
    EXPECT_EQ(again.instructions.at(0).instruction, "movq (%rax), %rax");
    EXPECT_EQ(again.lines.at(0).last_line, 3u);
    EXPECT_EQ(again.further_lines, where.further_lines);
    EXPECT_EQ(slots_of(again.slots, SlotCause::dram), 2.5);
    EXPECT_FALSE(read->runs[1].extra.where);
}

TEST(Record, DefaultRecordIsReadable) {
    const auto read = from_json(to_json(Record{}));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->experiment, Experiment::run);
}

TEST(Record, TextEndsInOneNewline) {
    const std::string text = serialize(full_record());
    EXPECT_THAT(text, StartsWith("{\n"));
    EXPECT_EQ(text.find_last_not_of('\n'), text.size() - 2);
}

TEST(Record, NumbersThatJsonCannotHoldAreNullAndSaySo) {
    Record record = full_record();
    record.runs[0].metrics[0].value = std::numeric_limits<double>::quiet_NaN();
    record.runs[0].time.bytes_per_second.max = std::numeric_limits<double>::infinity();
    const json document = to_json(record);
    const json& metric = document["runs"][0]["metrics"][0];
    EXPECT_TRUE(metric["value"].is_null());
    EXPECT_EQ(metric["status"], "unavailable");
    EXPECT_THAT(metric["reason"].get<std::string>(), HasSubstr("finite"));
    EXPECT_TRUE(document["runs"][0]["time"]["bytes_per_second"]["max"].is_null());
    EXPECT_TRUE(from_json(document));
}

/// Asked in one place by all that show, compare, sum and write values.
TEST(Record, AMetricHasAValueWhereItsStatusSaysSoAndItIsANumber) {
    Metric metric;
    metric.value = 0.5;
    for (const Status status : {Status::measured, Status::modelled, Status::replayed, Status::approximate}) {
        metric.status = status;
        EXPECT_TRUE(has_value(metric)) << text_of(status);
    }
    for (const Status status : {Status::unavailable, Status::not_counted}) {
        metric.status = status;
        EXPECT_FALSE(has_value(metric)) << text_of(status);
    }
    metric.status = Status::measured;
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        metric.value = value;
        EXPECT_FALSE(has_value(metric)) << value;
    }
}

TEST(Record, WhatFollowsIsNothingThatWasAskedFor) {
    RunParameters parameters;
    parameters.size_bytes = 4096;
    parameters.options = {{"chains", "4"}, {"places", "64"}, {"lines", "64"}};
    parameters.derived = {"places"};
    EXPECT_EQ(asked_values(parameters), (std::map<std::string, std::string>{{"chains", "4"}, {"size_bytes", "4096"}}));
    EXPECT_EQ(single_values(parameters).size(), 4U);
}

TEST(Record, UnknownBoundReadsAsNotANumber) {
    const auto read = from_json(with("/runs/0/metrics/0/low", nullptr));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_TRUE(std::isnan(read->runs[0].metrics[0].low));
}

TEST(Record, BytesThatAreNotUtf8AreReplaced) {
    Record record = full_record();
    record.command_line = "tmaprobe -- ./caf\xe9";
    record.runs[0].parameters.options["\xff"] = "\xc0\xaf";
    const auto read = parse_records(serialize(record), "r.json");
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ((*read)[0].command_line, "tmaprobe -- ./caf\xef\xbf\xbd");
}

TEST(Record, OtherSchemasAreRefusedByName) {
    EXPECT_THAT(error_of(with("/schema", "tmaprobe.record/2")), HasSubstr("tmaprobe.record/2"));
    EXPECT_THAT(error_of(with("/schema", "perf.stat")), HasSubstr("'perf.stat'"));
    EXPECT_THAT(error_of(with("/schema", 1)), HasSubstr("schema"));
    EXPECT_THAT(error_of(json::object()), HasSubstr("no \"schema\""));
    EXPECT_THAT(error_of(json(3)), HasSubstr("not a JSON object"));
    EXPECT_THAT(error_of(with("/schema", nullptr)), HasSubstr("schema is not a string"));
}

struct Broken {
    const char* pointer;
    json value;
    const char* error;
};

class BrokenRecord : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenRecord, IsRefusedWithThePath) {
    EXPECT_EQ(error_of(with(GetParam().pointer, GetParam().value)), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Types, BrokenRecord,
    ::testing::Values(
        Broken{"/experiment", "swep", "experiment is 'swep'; did you mean 'sweep'?"},
        Broken{"/host", json::array(), "host is not an object"},
        Broken{"/host/cpu_id", 3, "host.cpu_id is not a string"},
        Broken{"/host/caches", json::object(), "host.caches is not an array"},
        Broken{"/source/kind", "guess", "source.kind is 'guess'; one of: perf, replay, model, none"},
        Broken{"/runs", json::object(), "runs is not an array"}, Broken{"/runs/1", 7, "runs[1] is not an object"},
        Broken{"/runs/0/metrics/0/value", "x", "runs[0].metrics[0].value is not a number"},
        Broken{"/runs/0/metrics/0/value", nullptr, "runs[0].metrics[0].value is not a number"},
        Broken{"/runs/0/metrics/1/value", 0, "runs[0].metrics[1].value is not null although the metric is not_counted"},
        Broken{"/runs/0/metrics/0/level", -1, "runs[0].metrics[0].level is below 0"},
        Broken{"/runs/0/metrics/0/level", 5000000000, "runs[0].metrics[0].level is too large"},
        Broken{"/runs/0/metrics/0/warnings/0", 1, "runs[0].metrics[0].warnings[0] is not a string"},
        Broken{"/runs/0/events/0/raw", 1.5, "runs[0].events[0].raw is not a whole number of 0 or more"},
        Broken{"/runs/0/pages/obtained_bytes/4k", -1,
               "runs[0].pages.obtained_bytes.4k is not a whole number of 0 or more"},
        Broken{"/runs/0/time/repetitions", 9, "runs[0].time.repetitions differs from ns_per_op.count"},
        Broken{"/runs/1/time/status", "measured", "runs[1].time is measured but has no ns_per_op"},
        Broken{"/runs/0/metrics/0/category", "backed",
               "runs[0].metrics[0].category is 'backed'; did you mean 'backend'?"},
        Broken{"/runs/0/metrics/0/unit", "%",
               "runs[0].metrics[0].unit is '%'; one of: slots, clocks, uops, instructions, parent, "
               "per_kilo_instructions, ratio, count"},
        Broken{"/runs/0/events/0/note", "wraped", "runs[0].events[0].note is 'wraped'; did you mean 'wrapped'?"},
        Broken{"/runs/0/pages/requested", "3m", "runs[0].pages.requested is '3m'; did you mean '1m'?"},
        Broken{"/extra/knees", "many", "extra.knees is not an array"},
        Broken{"/runs/0/extra/series/0/metrics", 1, "runs[0].extra.series[0].metrics is not an object"},
        Broken{"/partial", "no", "partial is not true or false"},
        Broken{"/warnings/0", "oops", "warnings[0] is not an object"}));

TEST(Record, EveryMissingKeyIsNamed) {
    const json whole = to_json(full_record());
    for (const char* key : {"experiment", "tool", "host", "source", "runs", "warnings", "extra", "partial"}) {
        json document = whole;
        document.erase(key);
        EXPECT_EQ(error_of(document), std::string(key) + " is missing");
    }
    for (const auto& [key, value] : whole["runs"][0]["metrics"][0].items()) {
        json document = whole;
        document["runs"][0]["metrics"][0].erase(key);
        EXPECT_EQ(error_of(document), "runs[0].metrics[0]." + key + " is missing");
    }
}

TEST(RecordFile, LinesOfOneRecordBecomeOneAgain) {
    const std::string lines = serialize_lines(full_record());
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
    const auto twice = parse_records(lines + lines, "r.jsonl");
    ASSERT_TRUE(twice) << twice.error().what;
    ASSERT_EQ(twice->size(), 2u);
    EXPECT_EQ(to_json((*twice)[1]), to_json(full_record()));
}

TEST(RecordFile, SaysWhichLinesOfARecordAreMissing) {
    const std::string lines = serialize_lines(full_record());
    const auto half = parse_records(lines.substr(0, lines.find('\n') + 1), "r.jsonl");
    ASSERT_TRUE(half) << half.error().what;
    ASSERT_FALSE(half->at(0).warnings.empty());
    EXPECT_EQ(half->at(0).warnings.back().id, "parts_missing");
    EXPECT_EQ(half->at(0).warnings.back().what, "1 of this record's 2 runs are here");
}

TEST(RecordFile, ReadsAnArrayOfRecords) {
    const auto read = parse_records("[" + serialize(full_record()) + "," + serialize(Record{}) + "]", "r.json");
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->size(), 2u);
}

std::string parse_error(const std::string& text) {
    const auto read = parse_records(text, "r.json");
    return read ? "no error" : read.error().what;
}

TEST(RecordFile, SyntaxErrorsHaveLineAndColumn) {
    EXPECT_THAT(parse_error("{\n \"schema\": ,\n}"), StartsWith("r.json:2:12: not valid JSON: a value expected"));
    const std::string text = serialize(full_record());
    EXPECT_THAT(parse_error(text.substr(0, text.size() / 2)), HasSubstr("r.json:"));
    const std::string line = serialize_lines(Record{});
    EXPECT_THAT(parse_error(line + line.substr(0, 100)),
                StartsWith("r.json:2:101: not valid JSON: the text ends too early"));
    EXPECT_THAT(parse_error(line + "{}\n"), StartsWith("r.json:2: it has no \"schema\""));
}

TEST(RecordFile, NoTruncationIsTakenForARecord) {
    const std::string text = to_json(full_record()).dump();
    for (std::size_t length = 0; length < text.size(); length += 7) {
        const auto read = parse_records(text.substr(0, length), "r.json");
        ASSERT_FALSE(read) << "cut at " << length;
        EXPECT_EQ(read.error().code, ErrorCode::bad_input);
    }
}

TEST(RecordFile, HostileDepthIsRefused) {
    EXPECT_THAT(parse_error(std::string(1'000'000, '[')), HasSubstr("nested too deeply"));
    const json deep = json::parse(std::string(100, '[') + std::string(100, ']'));
    EXPECT_THAT(error_of(with("/runs/0/extra/deep", deep)), HasSubstr("nested too deeply"));
    EXPECT_TRUE(from_json(with("/unknown_key", json::parse(std::string(90, '[') + std::string(90, ']')))));
    EXPECT_THAT(parse_error(serialize(Record{}) + std::string(1, '\0')), HasSubstr("a zero byte"));
    EXPECT_THAT(parse_error("{\"[[[[[[[[[[\\\"[[[[[[\": 1e999}"), HasSubstr("r.json:1:"));
}

TEST(RecordFile, EmptyAndMissingFilesAreBadInput) {
    EXPECT_EQ(parse_error(" \n"), "r.json is empty");
    EXPECT_EQ(parse_error("[]\n[]"), "r.json holds no record");
    const auto missing = read_records("/nonexistent/r.json");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::bad_input);
    EXPECT_FALSE(read_records("/"));
}

// What every version has to read.

class OldRecord : public ::testing::TestWithParam<std::string> {};

/// What the old record says under a key, the new one says as well. Old texts had empty values where new ones leave them
/// out.
void expect_kept(const json& before, const json& now, const std::string& path) {
    if (before.is_object()) {
        ASSERT_TRUE(now.is_object()) << path;
        for (const auto& [key, value] : before.items()) {
            const bool empty =
                value.is_null() || ((value.is_array() || value.is_object() || value.is_string()) && value.empty());
            if (!now.contains(key))
                EXPECT_TRUE(empty) << path << "/" << key << " is lost";
            else
                expect_kept(value, now[key], path + "/" + key);
        }
    } else if (before.is_array()) {
        ASSERT_TRUE(now.is_array()) << path;
        ASSERT_EQ(before.size(), now.size()) << path;
        for (std::size_t i = 0; i < before.size(); ++i) expect_kept(before[i], now[i], path + "/" + std::to_string(i));
    } else {
        EXPECT_EQ(before, now) << path;
    }
}

TEST_P(OldRecord, IsReadAndKept) {
    const auto text = read_file(GetParam());
    ASSERT_TRUE(text) << text.error().what;
    const auto records = parse_records(*text, "old.json");
    ASSERT_TRUE(records) << records.error().what;
    expect_kept(json::parse(*text), to_json(records->front()), "");
}

std::vector<std::string> old_records() {
    std::vector<std::string> files{TMAPROBE_SOURCE_DIR "/docs/examples/replay.json"};
    for (const char* folder : {"old", "written"})
        for (const auto& entry :
             std::filesystem::directory_iterator(std::filesystem::path(TMAPROBE_SOURCE_DIR "/tests/record") / folder))
            if (entry.path().extension() == ".json") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

INSTANTIATE_TEST_SUITE_P(Files, OldRecord, ::testing::ValuesIn(old_records()), [](const auto& given) {
    const std::filesystem::path path = given.param;
    return path.parent_path().stem().string() + "_" + path.stem().string();
});

}  // namespace
}  // namespace tmaprobe::record
