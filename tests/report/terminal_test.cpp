#include "report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "record/json/file.h"
#include "report/text.h"

namespace tmaprobe::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A command on whole CPUs: one metric of the tree, counted on two cores.
record::Record counted_on_cores() {
    record::Record record;
    record.source.kind = record::SourceKind::perf;
    record::Run run;
    run.kernel = "command";
    run.parameters.command = {{"./program"}};
    record::Metric metric;
    metric.name = "retiring";
    metric.level = 1;
    metric.category = record::Category::retiring;
    metric.unit = record::MetricUnit::slots;
    metric.status = record::Status::measured;
    metric.value = metric.low = metric.high = 0.3;
    run.metrics.push_back(metric);
    run.extra.per_core = {{0, {0, 1}, {{"retiring", 0.4}}}, {1, {2, 3}, {{"retiring", std::nullopt}}}};
    record.runs.push_back(run);
    return record;
}

/// The same metric, modelled for a CPU that has no tree of its vendor's.
record::Record modelled_with_own_tree() {
    record::Record record = counted_on_cores();
    record.source = {record::SourceKind::model, "amdzen3", ""};
    record.extra.table = record::UsedTable{"amdzen3", "Zen 3", "", record::TreeOwner::tmaprobe};
    record.runs[0].metrics[0].status = record::Status::modelled;
    return record;
}

TEST(Terminal, ATreeOfTheModelsOwnIsNotPassedOffAsTheVendors) {
    const auto text = render_terminal(modelled_with_own_tree(), {});
    EXPECT_THAT(text, HasSubstr("tmaprobe's own tree"));
    EXPECT_THAT(text, Not(HasSubstr("Top-down")));
    EXPECT_THAT(render_terminal(counted_on_cores(), {}), HasSubstr("Top-down"));
}

TEST(Terminal, NothingIsCalledMeasuredOrModelledAboveNoValue) {
    for (auto record : {counted_on_cores(), modelled_with_own_tree()}) {
        record.runs[0].metrics[0].status = record::Status::unavailable;
        record.runs[0].metrics[0].reason = "the event is not there";
        const auto text = render_terminal(record, {});
        EXPECT_THAT(text, HasSubstr("NO VALUE"));
        EXPECT_THAT(text, Not(HasSubstr("MEASURED")));
        EXPECT_THAT(text, Not(HasSubstr("MODELLED")));
    }
}

TEST(Terminal, AKernelsClockIsThatOfAnOperation) {
    auto record = modelled_with_own_tree();
    record.runs[0].kernel = "chase";
    record.runs[0].time.operation = "load";
    auto& check = record.runs[0].extra.model.emplace().clock_check.emplace();
    check.modelled_ns = 140;
    check.measured_ns = 251;
    check.ratio = 140.0 / 251;
    check.verdict = record::ClockVerdict::doubtful;
    EXPECT_THAT(render_terminal(record, {}),
                HasSubstr("DOUBTFUL: modelled 140 ns, measured 251 ns per load: ratio 0.56"));
}

std::string first_lines(const record::Record& record) {
    const std::string text = render_terminal(record, {});
    return text.substr(0, text.find("\n\n"));
}

TEST(Terminal, TheFirstLinesSayWhoseTheModelledCpuIs) {
    auto record = modelled_with_own_tree();
    record.host.cpu_id = record.source.target;
    EXPECT_THAT(first_lines(record), HasSubstr("MODELLED for amdzen3, tmaprobe's"));
    record.host.cpu_id = "AuthenticAMD-21-2-0";
    EXPECT_THAT(first_lines(record), HasSubstr("MODELLED for amdzen3, not this machine's CPU, "));
    record.warnings.push_back({"id_contradicted", "this CPU's id names another", ""});
    EXPECT_THAT(first_lines(record), HasSubstr("MODELLED for amdzen3, as this CPU's features say, "));
}

TEST(Terminal, WhatMakesAFigureLessThanMeasuredStandsInTheFirstLines) {
    auto record = modelled_with_own_tree();
    EXPECT_THAT(first_lines(record), HasSubstr("MODELLED for amdzen3, tmaprobe's own tree"));
    record.runs[0].extra.model.emplace().clock_check.emplace().verdict = record::ClockVerdict::doubtful;
    EXPECT_THAT(first_lines(record), HasSubstr("DOUBTFUL by the clock"));
    record.runs[0].extra.model->clock_check.reset();
    record::Sampling& sampling = record.runs[0].extra.model->sampling.emplace();
    sampling.looks = 41;
    sampling.looks_met = 30;
    EXPECT_THAT(first_lines(record), Not(HasSubstr("DOUBTFUL")));
    sampling.looks_met = 4.1;
    EXPECT_THAT(first_lines(record), HasSubstr("DOUBTFUL: of code that took 10% of its time"));
    record.partial = true;
    EXPECT_THAT(first_lines(record), HasSubstr("INTERRUPTED"));
    record.source.kind = record::SourceKind::perf;
    EXPECT_THAT(first_lines(record), HasSubstr("APPROXIMATE"));
}

/// A command with nodes of the second level: one that is nothing, and one of which that is not known.
record::Record with_second_level() {
    auto record = counted_on_cores();
    record.runs[0].extra.per_core.clear();
    for (const auto& [name, high] : {std::pair{"surely_nothing", 0.001}, {"perhaps_something", 0.05}}) {
        auto node = record.runs[0].metrics[0];
        node.name = name;
        node.level = 2;
        node.parent = "retiring";
        node.value = node.low = 0;
        node.high = high;
        record.runs[0].metrics.push_back(node);
    }
    return record;
}

TEST(Terminal, NodesThatAreNothingHaveNoRowAndAreNamed) {
    const auto text = render_terminal(with_second_level(), {});
    EXPECT_THAT(text, HasSubstr("Below 0.5%: surely_nothing\n"));
    EXPECT_THAT(text, HasSubstr("    perhaps_something"));
    TerminalStyle verbose;
    verbose.verbose = true;
    EXPECT_THAT(render_terminal(with_second_level(), verbose), HasSubstr("    surely_nothing"));
}

TEST(Terminal, ANarrowTreeKeepsNamesValuesAndWhatTheyAre) {
    TerminalStyle narrow;
    narrow.width = 40;
    const auto text = render_terminal(with_second_level(), narrow);
    EXPECT_THAT(text, HasSubstr("of slots"));
    EXPECT_THAT(text, HasSubstr("perhaps_something"));
    EXPECT_THAT(text, HasSubstr("30.0%"));
}

TEST(Terminal, CoresHaveATableOfTheirOwn) {
    const auto text = render_terminal(counted_on_cores(), {});
    EXPECT_THAT(text, HasSubstr("0,1"));
    EXPECT_THAT(text, HasSubstr("40.0%"));
    EXPECT_THAT(text, HasSubstr("none"));  // core 1 was not counted: never 0
}

TEST(Terminal, OneCoreNeedsNoTable) {
    auto record = counted_on_cores();
    record.runs[0].extra.per_core.pop_back();
    EXPECT_THAT(render_terminal(record, {}), Not(HasSubstr("Core ")));
}

TEST(Terminal, TheTreeOfAHybridSaysWhoseItIs) {
    auto record = counted_on_cores();
    record.runs[0].parameters.pmu = "cpu_atom";
    EXPECT_THAT(render_terminal(record, {}), HasSubstr("./program, on cpu_atom"));
}

record::Record modelled_command() {
    record::Record record = counted_on_cores();
    record.source.kind = record::SourceKind::model;
    record.runs[0].metrics[0].status = record::Status::modelled;
    auto& time = record.runs[0].time;
    time.known = true;
    time.operation = "command";
    time.ns_per_op = summarize({0.89e9});
    time.ns_per_op.low = 0.87e9;
    time.ns_per_op.high = 0.91e9;
    time.tracing = record::Tracing{1.31e9, 0.42e9, 0.40e9, 0.44e9};
    return record;
}

/// What the tool wrote.
record::Record load_written(const std::string& name) {
    auto records = record::read_records(std::string(TMAPROBE_SOURCE_DIR "/tests/record/written/") + name + ".json");
    EXPECT_TRUE(records) << records.error().what;
    return records ? std::move(records->front()) : record::Record{};
}

/// As one line, whatever the width.
std::string unwrapped(const record::Record& record) {
    TerminalStyle wide;
    wide.width = 400;
    return render_terminal(record, wide);
}

TEST(Terminal, TheTimeOfATracedCommandSaysWhatWasTakenOff) {
    const auto text = unwrapped(modelled_command());
    EXPECT_THAT(text, HasSubstr("890 ms per command"));
    EXPECT_THAT(text, HasSubstr("1.31 s elapsed, of which 420 ms stopped to be copied: 870 ms..910 ms by itself"));
    EXPECT_THAT(text, HasSubstr("time is measured, less the stops for copies."));
}

TEST(Terminal, NoHeaderSaysThatTimeIsMeasuredWhereThereIsNone) {
    auto record = modelled_command();
    record.runs[0].time = {};
    record.runs[0].time.reason = "this CPU lacks the instructions";
    const auto text = unwrapped(record);
    EXPECT_THAT(text, HasSubstr("MODELLED"));
    EXPECT_THAT(text, HasSubstr("unavailable: this CPU lacks the instructions"));
    EXPECT_THAT(text, Not(HasSubstr("time is measured")));
}

TEST(Terminal, NothingIsCalledModelledOrMeasuredWhereNoMetricHasAValue) {
    for (const auto kind : {record::SourceKind::model, record::SourceKind::perf}) {
        auto record = modelled_command();
        record.source.kind = kind;
        record.runs[0].metrics[0].status = record::Status::unavailable;
        const auto text = unwrapped(record);
        EXPECT_THAT(text, HasSubstr("NO VALUE could be had"));
        EXPECT_THAT(text, Not(HasSubstr("MODELLED")));
        EXPECT_THAT(text, Not(HasSubstr("MEASURED")));
    }
}

TEST(Terminal, SoftwareEventsOfARunningProcessAreNotCalledTime) {
    auto record = counted_on_cores();
    record.source.kind = record::SourceKind::none;
    auto& run = record.runs[0];
    run.metrics.clear();
    run.time.reason = "nothing was started";
    record::Event clock;
    clock.name = "task-clock";
    clock.pmu = "software";
    clock.reading = {5, 5, 1, 1};
    run.events = {clock};
    EXPECT_THAT(unwrapped(record), HasSubstr("SOFTWARE EVENTS ONLY: no hardware event was counted."));
    EXPECT_THAT(unwrapped(record), Not(HasSubstr("TIME ONLY")));
}

TEST(Terminal, PairsSayWhatOneCoreAloneTakes) {
    const auto text = unwrapped(load_written("pairs"));
    EXPECT_THAT(text, HasSubstr("One core locked increment"));
    EXPECT_THAT(text, HasSubstr("8.49 ns"));
    EXPECT_THAT(text, Not(HasSubstr("?")));
}

TEST(Terminal, ASweepOfAKernelThatStreamsShowsBytesPerSecond) {
    const auto text = unwrapped(load_written("stream_sweep"));
    EXPECT_THAT(text, HasSubstr("bandwidth over size"));
    EXPECT_THAT(text, HasSubstr("GB/s"));
    EXPECT_THAT(unwrapped(load_written("sweep")), HasSubstr("latency over size"));
}

TEST(Terminal, ASweepShowsRatesOfTranslationNotCounts) {
    record::Record record;
    record.experiment = record::Experiment::sweep;
    for (const std::uint64_t size : {65536u, 131072u}) {
        record::Run run;
        run.kernel = "chase";
        run.parameters.size_bytes = size;
        run.time.known = true;
        run.time.ns_per_op = {5, 12, 11, 13, 0.1, 11.5, 12.5};
        const auto add = [&](const char* name, record::MetricUnit unit, double value) {
            record::Metric metric;
            metric.name = name;
            metric.category = record::Category::tlb;
            metric.unit = unit;
            metric.value = metric.low = metric.high = value;
            metric.status = record::Status::measured;
            run.metrics.push_back(metric);
        };
        add("dtlb_misses", record::MetricUnit::count, 51000);
        add("dtlb_misses_4k_pki", record::MetricUnit::per_kilo_instructions, 7.5);
        add("dtlb_misses_pki", record::MetricUnit::per_kilo_instructions, 7.5);
        add("itlb_pki", record::MetricUnit::per_kilo_instructions, 0);
        record.runs.push_back(run);
    }
    const std::string text = render_terminal(record, {});
    EXPECT_THAT(text, HasSubstr("dtlb_misses_pki, per 1000 instructions, measured\nsize"));
    EXPECT_THAT(text, HasSubstr("64K    7.50"));
    EXPECT_THAT(text, HasSubstr("0 at every size: itlb_pki"));
    for (const char* not_shown : {"51", "dtlb_misses_4k_pki"}) EXPECT_THAT(text, Not(HasSubstr(not_shown)));
}

TEST(Terminal, OneRunOfACommandHasNoSpread) {
    auto record = modelled_command();
    record.runs[0].time.tracing.reset();
    const auto text = unwrapped(record);
    EXPECT_THAT(text, HasSubstr("one run: how far another would differ is not known"));
    EXPECT_THAT(text, Not(HasSubstr("median of 1")));
}

TEST(Terminal, ModelledTranslationSaysWhichPagesItIsOf) {
    auto record = modelled_command();
    record.runs[0].pages = record::Pages{record::PageKind::size_2m, {{"2m", 1 << 24}}, record::PageKind::size_4k};
    EXPECT_THAT(unwrapped(record), HasSubstr("Modelled with pages of 2m; this machine's TLB holds these as 4k"));
    record.runs[0].extra.model.emplace().assumed_pages = record::PageKind::size_4k;
    EXPECT_THAT(unwrapped(record), Not(HasSubstr("Modelled with pages")));
}

TEST(Terminal, CountsAloneAreShown) {
    record::Record record;
    record::Run run;
    run.kernel = "command";
    record::Event faults;
    faults.name = "page-faults";
    faults.pmu = "software";
    faults.reading = {123, 123, 1000, 1000};
    run.events.push_back(faults);
    record.runs.push_back(run);
    EXPECT_THAT(render_terminal(record, {}), HasSubstr("page-faults"));
}

TEST(Terminal, IntervalsFarApartStayOnTheirSteps) {
    auto record = counted_on_cores();
    record.runs[0].extra.series = {
        {0, {{"retiring", 1.7e308}}, {}}, {1, {{"retiring", -1.7e308}}, {}}, {2, {{"retiring", 0}}, {}}};
    TerminalStyle style;
    style.unicode = false;
    EXPECT_THAT(render_terminal(record, style), HasSubstr("@_+"));
}

TEST(Terminal, StepsShowNoNoiseAtFullHeight) {
    record::Record record = counted_on_cores();
    for (const double value : {0.3, 0.302, 0.299})
        record.runs[0].extra.series.push_back({1, {{"retiring", value}}, {}});
    const auto steps = [&] {
        const std::string text = render_terminal(record, {});
        return text.substr(text.find("per interval"));
    };
    EXPECT_THAT(steps(), Not(HasSubstr("█")));
    record.runs[0].extra.series.push_back({1, {{"retiring", 0.6}}, {}});
    EXPECT_THAT(steps(), HasSubstr("█"));
}

TEST(Terminal, ATableWithoutRoomContinuesBelow) {
    auto record = counted_on_cores();
    record.runs[0].extra.per_core[0].cpus = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (int metric = 0; metric < 6; ++metric) {
        auto another = record.runs[0].metrics[0];
        another.name = "metric_" + std::to_string(metric);
        record.runs[0].metrics.push_back(another);
        record.runs[0].extra.per_core[0].metrics[another.name] = 0.01 * metric;
    }
    TerminalStyle style;
    style.width = 60;
    std::istringstream lines(render_terminal(record, style));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 60u) << line;
    EXPECT_THAT(lines.str(), HasSubstr("metric_5"));
}

}  // namespace
}  // namespace tmaprobe::report
