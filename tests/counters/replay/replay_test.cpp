#include "counters/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tmaprobe::counters::replay {
namespace {

using testing::HasSubstr;

Line only_line(const std::string& text) {
    const auto snapshots = parse_counts("counts", text);
    EXPECT_TRUE(snapshots) << snapshots.error().what;
    if (!snapshots || snapshots->size() != 1 || snapshots->front().lines.size() != 1) {
        ADD_FAILURE() << "not one line in: " << text;
        return {};
    }
    return snapshots->front().lines.front();
}

struct LayoutCase {
    std::string text;
    std::string event;
    double value;
    std::string where;
    double run_ns, share;
};

class Layout : public testing::TestWithParam<LayoutCase> {};

TEST_P(Layout, IsRead) {
    const Line line = only_line(GetParam().text);
    EXPECT_EQ(line.event, GetParam().event);
    EXPECT_DOUBLE_EQ(line.value, GetParam().value);
    EXPECT_EQ(line.where, GetParam().where);
    EXPECT_DOUBLE_EQ(line.run_ns, GetParam().run_ns);
    EXPECT_DOUBLE_EQ(line.share, GetParam().share);
}

INSTANTIATE_TEST_SUITE_P(
    Separated, Layout,
    testing::Values(
        LayoutCase{"123,,cycles,456,100.00,,\n", "cycles", 123, "", 456, 1},
        LayoutCase{"123,,cycles,456,33.21,0.5,insn per cycle\n", "cycles", 123, "", 456, 0.3321},
        LayoutCase{"123;;cycles:u;456;100.00;;\n", "cycles:u", 123, "", 456, 1},
        LayoutCase{"123\t\tcycles\t456\t100.00\t\t\n", "cycles", 123, "", 456, 1},
        LayoutCase{"123::::cycles::456::50.00::::\n", "cycles", 123, "", 456, 0.5},
        LayoutCase{"0.51,msec,task-clock,508426,100.00,0.448,CPUs utilized\n", "task-clock", 0.51, "", 508426, 1},
        LayoutCase{"49,,page-faults,508426,100.00,96.376,K/sec\n", "page-faults", 49, "", 508426, 1},
        LayoutCase{"123,,cycles,0.68%,456,100.00,,\n", "cycles", 123, "", 456, 1},
        LayoutCase{"     1.000123456,123,,cycles,456,100.00,,\n", "cycles", 123, "", 456, 1},
        LayoutCase{"CPU3,123,,cycles,456,100.00,,\n", "cycles", 123, "CPU3", 456, 1},
        LayoutCase{"     1.000123456,S0-D0-C1,2,123,,cycles,456,100.00,,\n", "cycles", 123, "S0-D0-C1", 456, 1},
        LayoutCase{"S1,16,123,,cycles,456,100.00,,\n", "cycles", 123, "S1", 456, 1},
        LayoutCase{"S0-D0-L3-ID0,8,123,,cycles,456,100.00,,\n", "cycles", 123, "S0-D0-L3-ID0", 456, 1},
        LayoutCase{"my-program-4711,123,,cycles,456,100.00,,\n", "cycles", 123, "my-program-4711", 456, 1},
        LayoutCase{"123,,cycles,user.slice,456,100.00,,\n", "cycles", 123, "user.slice", 456, 1},
        LayoutCase{"123,,cpu/event=0x9c,umask=0x1/,456,100.00,,\n", "cpu/event=0x9c,umask=0x1/", 123, "", 456, 1},
        LayoutCase{"123,,cpu_core/topdown-retiring/u,456,100.00,49/51,K/sec\n", "cpu_core/topdown-retiring/u", 123, "",
                   456, 1},
        LayoutCase{"# started on Fri\n\n123,,r019c,456,100.00,,\r\n", "r019c", 123, "", 456, 1},
        LayoutCase{"123,,cycles,456,100.00,,\n,,,,,0.5,insn per cycle\n", "cycles", 123, "", 456, 1},
        LayoutCase{"Web Content-77,123,,cycles,456,100.00,,\n", "cycles", 123, "Web Content-77", 456, 1},
        LayoutCase{"kworker/0:1-12,123,,cpu/event=0x9c,umask=1/,456,100.00,,\n", "cpu/event=0x9c,umask=1/", 123,
                   "kworker/0:1-12", 456, 1},
        // Decimal commas, as perf prints them in some languages.
        LayoutCase{"0,51;msec;task-clock;508426;100,00;0,448;CPUs utilized\n", "task-clock", 0.51, "", 508426, 1},
        LayoutCase{"123;;cycles;2,50%;456;99,00;;\n", "cycles", 123, "", 456, 0.99},
        // Before there was a unit.
        LayoutCase{"123,cycles\n", "cycles", 123, "", 0, 1},
        // Before run times were printed, and without the newline at the end.
        LayoutCase{"123,,cycles\n", "cycles", 123, "", 0, 1},
        LayoutCase{"123,,cycles,456,100.00", "cycles", 123, "", 456, 1}));

INSTANTIATE_TEST_SUITE_P(
    Json, Layout,
    testing::Values(
        LayoutCase{
            R"({"counter-value" : "123.000000", "unit" : "", "event" : "cycles", "event-runtime" : 456, "pcnt-running" : 100.00, "metric-value" : 0.5, "metric-unit" : "x"})"
            "\n",
            "cycles", 123, "", 456, 1},
        LayoutCase{
            R"({"cpu" : "3", "counter-value" : "123", "event" : "cycles", "event-runtime" : 456, "pcnt-running" : 25.5})",
            "cycles", 123, "CPU3", 456, 0.255},
        LayoutCase{
            R"({"core" : "S0-D0-C0", "counters" : 2, "counter-value" : "123", "event" : "cpu/event=0x9c,umask=1/"})",
            "cpu/event=0x9c,umask=1/", 123, "S0-D0-C0", 0, 1},
        LayoutCase{R"({"interval" : 1.000123456, "counter-value" : "123", "event" : "cycles", "variance" : 2.5})"
                   "\n"
                   R"({"interval" : 1.000123456, "metric-value" : "0.5", "metric-unit" : "ipc"})",
                   "cycles", 123, "", 0, 1}));

TEST(ReadCounts, TellsNotCountedFromNotSupported) {
    EXPECT_FALSE(only_line("<not counted>,,cycles,0,100.00,,\n").counted);
    EXPECT_TRUE(only_line("<not counted>,,cycles,0,100.00,,\n").supported);
    EXPECT_FALSE(only_line("<not supported>,,cycles,0,100.00,,\n").supported);
    EXPECT_FALSE(only_line(R"({"counter-value" : "<not supported>", "event" : "cycles"})").supported);
    EXPECT_FALSE(only_line("1000,,cycles,0,0.00,,\n").counted) << "it never ran";
    EXPECT_TRUE(only_line("1000,,cycles,400,0.00,,\n").counted) << "a share too small to be printed";
}

TEST(ReadCounts, PassesOverAMetricThatIsNoNumber) {
    for (const char* metric : {"nan", "-nan", "inf", "-inf"})
        EXPECT_DOUBLE_EQ(only_line(std::string(R"({"counter-value" : "123", "event" : "cycles", "metric-value" : )") +
                                   metric + R"(, "metric-unit" : ""})")
                             .value,
                         123)
            << metric;
}

TEST(ReadCounts, ReadsVariance) {
    EXPECT_DOUBLE_EQ(only_line("123,,cycles,0.68%,456,100.00,,\n").variance, 0.0068);
    EXPECT_DOUBLE_EQ(only_line("0,,cycles,-nan%,456,100.00,,\n").variance, 0);
    EXPECT_DOUBLE_EQ(only_line(R"({"counter-value" : "123", "event" : "cycles", "variance" : 2.5})").variance, 0.025);
    EXPECT_DOUBLE_EQ(only_line(R"({"counter-value" : "0", "event" : "cycles", "variance" : -nan})").variance, 0);
}

TEST(ReadCounts, KeepsIntervalsApartAndDropsTheirSummary) {
    const auto snapshots = parse_counts("counts",
                                        "     1.000000001,10,,cycles,1,100.00,,\n"
                                        "     1.000000001,20,,instructions,1,100.00,,\n"
                                        "     2.000000001,30,,cycles,1,100.00,,\n"
                                        "         summary,40,,cycles,2,100.00,,\n"
                                        "40,,cycles,2,100.00,,\n");
    ASSERT_TRUE(snapshots) << snapshots.error().what;
    ASSERT_EQ(snapshots->size(), 2u);
    EXPECT_EQ(snapshots->at(0).lines.size(), 2u);
    EXPECT_DOUBLE_EQ(snapshots->at(1).lines.at(0).value, 30);
    EXPECT_DOUBLE_EQ(snapshots->at(1).at_seconds.value(), 2.000000001);
}

struct FaultCase {
    std::string text, message;
};

class Fault : public testing::TestWithParam<FaultCase> {};

TEST_P(Fault, NamesThePlace) {
    const auto snapshots = parse_counts("counts", GetParam().text);
    ASSERT_FALSE(snapshots);
    EXPECT_EQ(snapshots.error().code, ErrorCode::bad_input);
    EXPECT_THAT(snapshots.error().what, HasSubstr(GetParam().message));
}

const std::string good = "123,,cycles,456,100.00,,\n";

INSTANTIATE_TEST_SUITE_P(
    Broken, Fault,
    testing::Values(
        FaultCase{"", "counts:1:1: no counts"}, FaultCase{"# nothing\n", "no counts"},
        FaultCase{good + "-5,,cycles,456,100.00,,\n", "counts:2:1: the count -5 is negative"},
        FaultCase{good + "nan,,cycles,456,100.00,,\n", "counts:2:1: 'nan' is not a count"},
        FaultCase{good + "inf,,cycles,456,100.00,,\n", "counts:2:1: 'inf' is not a count"},
        FaultCase{good + "1e30,,cycles,456,100.00,,\n", "larger than a counter can hold"},
        FaultCase{good + "12x,,cycles,456,100.00,,\n", "counts:2:1: '12x' is not a count"},
        FaultCase{good + "12,,,456,100.00,,\n", "no event is named"},
        FaultCase{good + "12,,cycles,456,10", "counts:2:16: the line ends within '10'"},
        FaultCase{good + "12,,cycles,456", "is not a share"},
        FaultCase{good + "12,,cycles,4x6,100.00,,\n", "not a share"},
        FaultCase{good + "12,,cycles,456,101.00,,\n", "counts:2:16: '101.00' is not a share"},
        FaultCase{good + "12,,cyc\xff\xfe,456,100.00,,\n", "counts:2:5: this is not an event's name"},
        FaultCase{good + "garbage\n", "counts:2:1"}, FaultCase{"garbage\n", "counts:1:1"},
        FaultCase{good + "12,,cycl", "counts:2:9: the line ends too early"},
        FaultCase{good + "12,,cycles\n", "counts:2:11: the line ends too early"},
        FaultCase{"123,,cycles,456,100,00,,\n", "counts:1:17: '100' is not a share with two decimals; LC_ALL=C"},
        FaultCase{"frontend_bound,backend_bound\n12.0,25.0\n", "counts:1:1: this is no line of perf stat -x"},
        FaultCase{" Performance counter stats for 'true':\n", "counts:1"},
        FaultCase{"     2.000000001,10,,cycles,1,100.00,,\n     1.000000001,10,,cycles,1,100.00,,\n", "lies before"},
        FaultCase{R"({"counter-value" : "12", "event")", "counts:1:33: the line ends too early"},
        FaultCase{R"({"counter-value" : "NaN", "event" : "cycles"})", "the count is 'NaN'"},
        FaultCase{R"({"counter-value" : "-1", "event" : "cycles"})", "the count is '-1'"},
        FaultCase{R"({"counter-value" : "12", "counter-value" : "13", "event" : "cycles"})",
                  "counts:1:26: 'counter-value' stands there twice"},
        FaultCase{R"({"counter-value" : "12"})", "no event is named"},
        FaultCase{R"({"counter-value" : "12", "event" : "cycles", "pcnt-running" : -3})", "pcnt-running"},
        FaultCase{R"({"counter-value" : "12", "event" : "cycles", "pcnt-running" : nan})",
                  "counts:1:46: pcnt-running is 'null'"},
        FaultCase{R"({"counter-value" : [1], "event" : "cycles"})", "the count is"},
        FaultCase{"{\"counter-value\" : \"1\", \"event\" : \"cy\xff\"}", "counts:1"},
        FaultCase{std::string(100'000, '['), "counts:1:1"},
        FaultCase{"{\"a\":" + std::string(100'000, '['), "counts:1:"}));

class Match : public testing::Test {
  protected:
    Matched matched(const std::string& text) {
        const auto snapshots = parse_counts("counts", text);
        EXPECT_TRUE(snapshots) << snapshots.error().what;
        auto result = match_all("counts", *snapshots, table_);
        EXPECT_TRUE(result) << result.error().what;
        return result.value_or(Matched{});
    }
    std::string refusal(const std::string& text) {
        const auto result = match_all("counts", *parse_counts("counts", text), table_);
        return result ? "" : result.error().what;
    }
    events::Table table_ = events::load({}, "cascadelakex").value();
};

TEST_F(Match, KnowsAnEncodingInEverySpelling) {
    for (const std::string spelling : {"IDQ_UOPS_NOT_DELIVERED.CORE", "idq_uops_not_delivered.core", "r19c", "r019c:u",
                                       "cpu/event=0x9c,umask=0x01/", "cpu/config=0x19c/", "cpu/umask=1,event=0x9c/u",
                                       "clx::IDQ_UOPS_NOT_DELIVERED:CORE", "IDQ_UOPS_NOT_DELIVERED:CORE"}) {
        const auto events = matched("100,," + spelling + ",5,100.00,,\n").events;
        ASSERT_EQ(events.size(), 1u) << spelling;
        EXPECT_EQ(events[0].config, "0x19c") << spelling;
        EXPECT_DOUBLE_EQ(events[0].reading.value, 100) << spelling;
        EXPECT_FALSE(events[0].low) << spelling;
    }
}

TEST_F(Match, SumsCpus) {
    const auto events =
        matched(
            "CPU0,100,,cycles,1000,100.00,,\nCPU1,50,,cycles,1000,100.00,,\nCPU0,7,,instructions,9,100.00,,\n"
            "CPU1,8,,instructions,9,100.00,,\n")
            .events;
    ASSERT_EQ(events.size(), 2u);
    EXPECT_DOUBLE_EQ(events[0].reading.value, 150);
    EXPECT_DOUBLE_EQ(events[1].reading.value, 15);
}

TEST_F(Match, DoesNotSumWhatOneCpuLacks) {
    const auto events = matched("CPU0,100,,cycles,1000,100.00,,\nCPU1,<not counted>,,cycles,0,100.00,,\n").events;
    EXPECT_EQ(events.at(0).note, record::Note::not_counted);
}

TEST_F(Match, BoundsMultiplexedCounts) {
    const auto event = matched("1000000,,cycles,250000000,25.00,,\n").events.at(0);
    EXPECT_EQ(event.reading.time_enabled_ns, 1'000'000'000u);
    EXPECT_DOUBLE_EQ(event.reading.value, 1'000'000);
    ASSERT_TRUE(event.low && event.high);
    EXPECT_GE(*event.low, 250'000);
    EXPECT_LT(*event.low, 900'000);
    EXPECT_GT(*event.high, 1'100'000);
    const auto longer = matched("1000000,,cycles,25000000000,25.00,,\n").events.at(0);
    EXPECT_LT(*longer.high, *event.high);
}

TEST_F(Match, BoundsByVariance) {
    const auto event = matched("1000,,cycles,1.00%,5,100.00,,\n").events.at(0);
    EXPECT_DOUBLE_EQ(event.low.value(), 1000 - 19.6);
    EXPECT_DOUBLE_EQ(event.high.value(), 1000 + 19.6);
}

TEST_F(Match, AddsIntervalsAndForgivesIdleOnes) {
    const auto events =
        matched(
            "     1.000000001,10,,cycles,100,100.00,,\n     1.000000001,5,,instructions,100,100.00,,\n"
            "     2.000000001,<not counted>,,cycles,0,100.00,,\n     2.000000001,<not "
            "counted>,,instructions,0,100.00,,\n"
            "     3.000000001,30,,cycles,100,100.00,,\n     3.000000001,<not counted>,,instructions,0,100.00,,\n")
            .events;
    EXPECT_DOUBLE_EQ(events.at(0).reading.value, 40);
    EXPECT_EQ(events.at(0).note, record::Note::none);
    EXPECT_EQ(events.at(1).note, record::Note::not_counted);  // the third interval ran, and lacks it
}

TEST_F(Match, GroupsByRunningTime) {
    const auto events =
        matched("10,,cycles,100,50.00,,\n5,,instructions,100,50.00,,\n11,,cycles,90,45.00,,\n3,,branches,90,45.00,,\n")
            .events;
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].group, events[1].group);
    EXPECT_EQ(events[2].group, events[3].group);
    EXPECT_NE(events[0].group, events[2].group);
}

TEST_F(Match, RefusesContradictions) {
    EXPECT_THAT(refusal("100,,cycles,5,100.00,,\n200,,cycles,5,100.00,,\n"),
                HasSubstr("counts:2:1: cycles was counted on line 1 already"));
    EXPECT_THAT(refusal("100,,cycles,5,100.00,,\n100,,cycles,5,100.00,,\n"), HasSubstr("in the same words"));
    const std::string pair = "100,,cycles,5,100.00,,\n70,,instructions,5,100.00,,\n";
    EXPECT_THAT(refusal(pair + pair), HasSubstr("counts:3:1: every count stands there twice"));
}

TEST_F(Match, AddsUserAndKernelHalves) {
    const auto result = matched(
        "100,,cycles:u,5,100.00,,\n20,,cycles:k,5,100.00,,\n7,,instructions,5,100.00,,\n6,,instructions:u,5,100.00,,"
        "\n");
    ASSERT_EQ(result.events.size(), 5u) << "the four that were counted, and one sum";
    EXPECT_EQ(result.events[0].name, "cycles:u");
    EXPECT_DOUBLE_EQ(result.events[0].reading.value, 100);
    EXPECT_EQ(result.events[4].name, "cycles");
    EXPECT_DOUBLE_EQ(result.events[4].reading.value, 120);
    EXPECT_EQ(result.warnings.at(0).id, "user_and_kernel_added");
}

TEST_F(Match, SaysWhichEventsLackAMode) {
    const auto result =
        matched("100,,cycles,5,100.00,,\n70,,instructions:u,5,100.00,,\n2.5,msec,task-clock:u,5,100.00,,\n");
    ASSERT_EQ(result.warnings.size(), 1u);
    EXPECT_EQ(result.warnings[0].id, "mixed_privileges");
    EXPECT_THAT(result.warnings[0].what, testing::EndsWith(": instructions:u"));
    EXPECT_TRUE(matched("100,,cycles:u,5,100.00,,\n70,,instructions:u,5,100.00,,\n2.5,msec,task-clock,5,100.00,,\n")
                    .warnings.empty());
}

TEST_F(Match, KeepsUnknownEventsAndSaysSo) {
    const auto result = matched(
        "100,,NO_SUCH.EVENT,5,100.00,,\n0.5,Joules,power/energy-pkg/,5,100.00,,\n2.5,msec,task-clock,5,100.00,,\n");
    EXPECT_EQ(result.events.size(), 3u);
    EXPECT_THAT(result.warnings.at(0).what, HasSubstr("NO_SUCH.EVENT"));
    EXPECT_DOUBLE_EQ(result.events[2].reading.value, 2.5e6);
}

}  // namespace
}  // namespace tmaprobe::counters::replay
