#include "judge/assess.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/assessor.h"
#include "judge/count_index.h"
#include "tests/judge/fixture.h"

namespace tmaprobe::judge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// An event that was counted all the time, in the given group.
record::Event counted(const std::string& name, double value, int group = 0, int pass = 0) {
    record::Event event;
    event.name = name;
    event.reading.value = value;
    event.reading.raw = static_cast<std::uint64_t>(value);
    event.reading.time_enabled_ns = event.reading.time_running_ns = 1000;
    event.group = group;
    event.pass = pass;
    return event;
}

/// Zen 4 at 1000 cycles: 6000 slots of which 600 wait for the front end, 3000 for the back end.
std::vector<record::Event> zen4_counts() {
    return {counted("ls_not_halted_cyc", 1000),
            counted("de_no_dispatch_per_slot.no_ops_from_frontend", 600),
            counted("cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x6/", 50),
            counted("de_no_dispatch_per_slot.backend_stalls", 3000),
            counted("de_no_dispatch_per_slot.smt_contention", 0),
            counted("de_src_op_disp.all", 2400),
            counted("ex_ret_ops", 2220),
            counted("ex_ret_brn_misp", 3),
            counted("resyncs_or_nc_redirects", 1),
            counted("ex_no_retire.load_not_complete", 100),
            counted("ex_no_retire.not_complete", 400),
            counted("ex_ret_ucode_ops", 222)};
}

std::map<std::string, record::Metric> assessed(const events::Table& table, const std::vector<record::Event>& events,
                                               AssessRequest request = {}, int level = 2) {
    if (request.metrics.empty()) request.metrics = choose_metrics(table, level, {}).value();
    const auto metrics = assess(table, events, request);
    EXPECT_TRUE(metrics) << metrics.error().what;
    std::map<std::string, record::Metric> by_name;
    for (const auto& metric : metrics.value_or(std::vector<record::Metric>{})) by_name[metric.name] = metric;
    return by_name;
}

TEST(Assess, AnEventIsFoundByItsKeyAndNotByItsText) {
    const auto table = table_of("zen4");
    auto events = zen4_counts();
    for (auto& event : events) {
        event.key = recorded_key(table, event);
        event.name = "counted under another name";
        event.config = "no number";
    }
    EXPECT_DOUBLE_EQ(assessed(table, events)["backend_bound"].value, 0.5);
    for (auto& event : events) event.key.reset();
    EXPECT_EQ(assessed(table, events)["backend_bound"].status, record::Status::unavailable);
}

/// Granite Rapids: 20 locked loads and 10 loads that missed both TLB levels in 1000 cycles.
std::map<std::string, record::Metric> assessed_latencies(const std::vector<record::RetireLatency>& latencies) {
    static const auto table = table_of("graniterapids");
    AssessRequest request;
    request.metrics = {"tma_lock_latency", "tma_info_memory_tlb_load_stlb_miss_ret"};
    request.latencies = latencies;
    return assessed(table,
                    {counted("CPU_CLK_UNHALTED.THREAD", 1000), counted("MEM_INST_RETIRED.LOCK_LOADS", 20),
                     counted("MEM_INST_RETIRED.STLB_MISS_LOADS", 10)},
                    request);
}

record::RetireLatency sampled(const std::string& spelling, double mean, double half) {
    record::RetireLatency latency;
    latency.event = spelling;
    latency.key = recorded_key(table_of("graniterapids"), counted(spelling, 0));
    latency.samples = 100;
    latency.mean = mean;
    latency.low = mean - half;
    latency.high = mean + half;
    return latency;
}

TEST(Assess, APublishedLatencyIsFlaggedAndAMissingOneIsAReason) {
    auto metrics = assessed_latencies({});
    EXPECT_NEAR(metrics["tma_lock_latency"].value, 20 * 63.76 / 1000, 1e-9);
    EXPECT_THAT(metrics["tma_lock_latency"].warnings, Contains("latency_from_table"));
    EXPECT_EQ(metrics["tma_info_memory_tlb_load_stlb_miss_ret"].status, record::Status::unavailable);
    EXPECT_THAT(metrics["tma_info_memory_tlb_load_stlb_miss_ret"].reason, HasSubstr("not published"));
}

TEST(Assess, ASampledLatencyTakesThePlaceOfThePublishedOneWithItsBounds) {
    auto metrics = assessed_latencies(
        {sampled("MEM_INST_RETIRED.LOCK_LOADS:R", 40, 2), sampled("MEM_INST_RETIRED.STLB_MISS_LOADS:R", 30, 3)});
    const auto& lock = metrics["tma_lock_latency"];
    EXPECT_NEAR(lock.value, 0.8, 1e-9);
    EXPECT_NEAR(lock.low, 0.76, 1e-9);
    EXPECT_NEAR(lock.high, 0.84, 1e-9);
    EXPECT_THAT(lock.warnings, Not(Contains("latency_from_table")));
    const auto& walks = metrics["tma_info_memory_tlb_load_stlb_miss_ret"];
    EXPECT_EQ(walks.status, record::Status::measured) << walks.reason;
    EXPECT_NEAR(walks.value, 0.3, 1e-9);
    EXPECT_NEAR(walks.high - walks.low, 0.06, 1e-9);
}

TEST(Assess, ALatencyThatCouldNotBeSampledIsThePublishedOne) {
    auto refused = sampled("MEM_INST_RETIRED.LOCK_LOADS:R", 40, 2);
    refused.missing = record::NoLatency::no_samples;
    auto metrics = assessed_latencies({refused});
    EXPECT_NEAR(metrics["tma_lock_latency"].value, 20 * 63.76 / 1000, 1e-9);
    EXPECT_THAT(metrics["tma_lock_latency"].warnings, Contains("latency_from_table"));
}

TEST(Assess, MixesNoPrivilegeLevels) {
    const auto table = table_of("zen4");
    auto events = zen4_counts();
    for (auto& event : events) event.name += event.name.ends_with('/') ? "u" : ":u";
    EXPECT_DOUBLE_EQ(assessed(table, events)["backend_bound"].value, 0.5) << "user mode alone";
    events[0].name = "ls_not_halted_cyc";
    const auto mixed = assessed(table, events)["backend_bound"];
    EXPECT_EQ(mixed.status, record::Status::unavailable) << "stalls in user mode as a share of all cycles";
    EXPECT_THAT(mixed.reason, HasSubstr("no count of de_no_dispatch_per_slot.backend_stalls"));
}

TEST(Assessor, GivesTheValuesOfAssessForOneIntervalAfterAnother) {
    for (const char* cpu : {"amdzen4", "amdzen3", "sapphirerapids"}) {
        const auto table = table_of(cpu);
        AssessRequest request;
        request.metrics = choose_metrics(table, 2, {}).value();
        Assessor assessor(table, request);
        auto events = zen4_counts();
        for (int interval = 0; interval < 4; ++interval) {
            if (interval == 2) events[5].reading = {};                          // its group had no turn
            if (interval == 3) std::swap(events[1], events[3]);                 // another order
            for (auto& event : events) event.reading.value *= 1.25 + interval;  // not all metrics are shares
            const auto values = assessor.values(events);
            ASSERT_TRUE(values) << values.error().what;
            const auto wanted = assess(table, events, request);
            ASSERT_TRUE(wanted);
            ASSERT_EQ((*values)->size(), wanted->size());
            for (std::size_t i = 0; i < wanted->size(); ++i) {
                const auto& metric = (**values)[i];
                EXPECT_EQ(metric.name, (*wanted)[i].name);
                EXPECT_EQ(metric.status, (*wanted)[i].status) << cpu << " " << metric.name << " " << interval;
                EXPECT_EQ(metric.unit, (*wanted)[i].unit);
                EXPECT_EQ(metric.parent, (*wanted)[i].parent);
                if (has_value(metric))
                    EXPECT_DOUBLE_EQ(metric.value, (*wanted)[i].value) << cpu << " " << metric.name << " " << interval;
            }
        }
    }
}

TEST(Assessor, BringsSeveralPassesToOneLengthAsAssessDoes) {
    const auto table = table_of("amdzen4");
    AssessRequest request;
    request.metrics = choose_metrics(table, 2, {}).value();
    auto events = zen4_counts();
    events.push_back(counted("ls_not_halted_cyc", 2000, 1, 1));
    events[3] = counted("de_no_dispatch_per_slot.backend_stalls", 6000, 1, 1);  // of a run that was twice as long
    Assessor assessor(table, request);
    const auto values = assessor.values(events);
    ASSERT_TRUE(values) << values.error().what;
    const auto wanted = assessed(table, events, request);
    for (const auto& metric : **values)
        if (metric.name == "backend_bound") EXPECT_DOUBLE_EQ(metric.value, 0.5);
    for (const auto& metric : **values) EXPECT_DOUBLE_EQ(metric.value, wanted.at(metric.name).value) << metric.name;
}

TEST(ChooseMetrics, WalksTheTreeDepthFirst) {
    const auto names = choose_metrics(table_of("amdzen4"), 2, {});
    ASSERT_TRUE(names);
    EXPECT_THAT(*names,
                ElementsAre("frontend_bound", "frontend_bound_bandwidth", "frontend_bound_latency", "bad_speculation",
                            "bad_speculation_mispredicts", "bad_speculation_pipeline_restarts", "backend_bound",
                            "backend_bound_cpu", "backend_bound_memory", "retiring", "retiring_fastpath",
                            "retiring_microcode", "smt_contention"));
}

TEST(ChooseMetrics, EndsWhereTheVendorEnds) { EXPECT_EQ(choose_metrics(table_of("amdzen4"), 6, {})->size(), 13u); }

TEST(ChooseMetrics, PutsWhatIsMeasuredBelowAnOwnTree) {
    for (const char* cpu : {"amdzen1", "amdzen2", "amdzen3"}) {
        const auto names = choose_metrics(table_of(cpu), 1, {});
        ASSERT_TRUE(names) << names.error().what;
        ASSERT_GE(names->size(), 4u);
        EXPECT_THAT(std::vector(names->begin(), names->begin() + 4),
                    ElementsAre("frontend_bound", "bad_speculation", "backend_bound", "retiring"))
            << cpu;
        for (const char* below : {"cycles", "instructions", "instructions_per_cycle", "branch_mispredictions_pki",
                                  "l1_misses_pki", "l2_misses_pki", "tlb_data_walks_pki"})
            EXPECT_THAT(*names, Contains(below)) << cpu;
    }
}

/// Zen 3 at 1000 cycles: an empty queue in 200, a full one in 350, 2400 of 6000 slots dispatched.
std::vector<record::Event> zen3_counts() {
    return {counted("ls_not_halted_cyc", 1000),
            counted("ex_ret_ops", 1800),
            counted("ex_ret_instr", 1500),
            counted("de_dis_cops_from_decoder.any_dispatch", 2400),
            counted("de_dis_uop_queue_empty_di0", 200),
            counted("de_dis_dispatch_token_stalls1.any_resource", 350),
            counted("de_dis_dispatch_token_stalls2.any_resource", 100),
            counted("ls_mab_alloc.all_allocations", 0)};
}

TEST(Assess, OwnTreesAreApproximateAndLeaveOpenWhatTheirEventsDo) {
    const auto metrics = assessed(table_of("amdzen3"), zen3_counts());
    EXPECT_EQ(metrics.at("retiring").status, record::Status::approximate);
    EXPECT_DOUBLE_EQ(metrics.at("retiring").value, 0.3);
    EXPECT_DOUBLE_EQ(metrics.at("bad_speculation").value, 0.1);
    EXPECT_DOUBLE_EQ(metrics.at("frontend_bound").low, 0.2);
    EXPECT_NEAR(metrics.at("frontend_bound").high, 0.25, 1e-12);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").low, 0.35);
    EXPECT_NEAR(metrics.at("backend_bound").high, 0.4, 1e-12);
    EXPECT_EQ(metrics.at("backend_bound_memory").high, 0) << "no line was fetched";
    EXPECT_EQ(metrics.at("instructions_per_cycle").status, record::Status::measured);
    EXPECT_DOUBLE_EQ(metrics.at("instructions_per_cycle").value, 1.5);
    const double sum = metrics.at("retiring").value + metrics.at("bad_speculation").value +
                       metrics.at("frontend_bound").value + metrics.at("backend_bound").value;
    EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Assess, NamesNoBottleneckWhereBoundsOverlap) {
    auto events = zen3_counts();
    EXPECT_TRUE(assessed(table_of("amdzen3"), events).at("backend_bound").bottleneck);
    events[5].reading.value = 210;  // hardly more than the empty queue explains
    EXPECT_FALSE(assessed(table_of("amdzen3"), events).at("backend_bound").bottleneck);
}

TEST(ChooseMetrics, KnowsTheTranslationMetricsOfEveryTable) {
    const auto folders = events::targets({});
    ASSERT_TRUE(folders);
    for (const std::string& folder : *folders) {
        const auto names = choose_metrics(table_of(folder), 0, {"tlb"});
        ASSERT_TRUE(names) << folder << ": " << names.error().what;
        EXPECT_THAT(*names, Contains(HasSubstr("tlb"))) << folder;
    }
}

TEST(ChooseMetrics, SuggestsForAMistypedName) {
    const auto names = choose_metrics(table_of("cascadelakex"), 1, {"tma_dram_bond"});
    ASSERT_FALSE(names);
    EXPECT_THAT(names.error().hint, HasSubstr("tma_dram_bound"));
}

TEST(Assess, GivesFractionsThatSumToOne) {
    const auto table = table_of("AuthenticAMD-25-11-1");
    const auto metrics = assessed(table, zen4_counts());
    EXPECT_DOUBLE_EQ(metrics.at("frontend_bound").value, 0.1);
    EXPECT_DOUBLE_EQ(metrics.at("frontend_bound_latency").value, 0.05);
    EXPECT_DOUBLE_EQ(metrics.at("bad_speculation").value, 0.03);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").value, 0.5);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound_memory").value, 0.125);
    EXPECT_DOUBLE_EQ(metrics.at("retiring").value, 0.37);
    EXPECT_EQ(metrics.at("retiring").unit, record::MetricUnit::slots);
    EXPECT_EQ(metrics.at("retiring").status, record::Status::measured);
    EXPECT_EQ(metrics.at("backend_bound").category, record::Category::backend);
    EXPECT_FALSE(metrics.at("backend_bound").formula.empty());
}

TEST(Assess, MarksThePathByThresholds) {
    const auto metrics = assessed(table_of("amdzen4"), zen4_counts());
    EXPECT_TRUE(metrics.at("backend_bound").bottleneck);
    EXPECT_TRUE(metrics.at("backend_bound_cpu").bottleneck);
    EXPECT_FALSE(metrics.at("backend_bound_memory").bottleneck);
    EXPECT_FALSE(metrics.at("frontend_bound").bottleneck);
    EXPECT_FALSE(metrics.at("retiring").over_threshold.value());
    EXPECT_THAT(metrics.at("backend_bound_cpu").says, HasSubstr("execution"));
}

TEST(Assess, MakesPercentOfArmAFraction) {
    const auto table = table_of("0x00000000410fd400");
    const auto metrics = assessed(table,
                                  {counted("CPU_CYCLES", 1000), counted("STALL_SLOT_BACKEND", 2000),
                                   counted("STALL_SLOT_FRONTEND", 800), counted("STALL_SLOT", 2800),
                                   counted("OP_RETIRED", 4000), counted("OP_SPEC", 5000), counted("BR_MIS_PRED", 10)},
                                  {}, 1);
    // 8 slots a cycle, from the table: no machine was asked.
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").value, 0.25);
    EXPECT_DOUBLE_EQ(metrics.at("retiring").value, 0.8 * (1 - 2800.0 / 8000));
    EXPECT_EQ(metrics.at("backend_bound").unit, record::MetricUnit::slots);
    EXPECT_TRUE(metrics.at("backend_bound").over_threshold.value());
}

TEST(Assess, ShowsAndFlagsImpossibleValues) {
    auto events = zen4_counts();
    events[5].reading.value = 2000;  // fewer dispatched than retired
    events[3].reading.value = 9000;
    const auto metrics = assessed(table_of("amdzen4"), events);
    EXPECT_LT(metrics.at("bad_speculation").value, 0);
    EXPECT_THAT(metrics.at("bad_speculation").warnings, Contains("negative"));
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").value, 1.5);
    EXPECT_THAT(metrics.at("backend_bound").warnings, Contains("above_one"));
}

TEST(Assess, SaysWhatIsMissing) {
    auto events = zen4_counts();
    events.erase(events.begin() + 6);              // ex_ret_ops is absent
    events[3].reading.time_running_ns = 0;         // backend_stalls never ran
    events[1].note = record::Note::not_supported;  // no_ops_from_frontend
    const auto metrics = assessed(table_of("amdzen4"), events);
    EXPECT_EQ(metrics.at("retiring").status, record::Status::unavailable);
    EXPECT_THAT(metrics.at("retiring").reason, HasSubstr("no count of ex_ret_ops"));
    EXPECT_EQ(metrics.at("backend_bound").status, record::Status::not_counted);
    EXPECT_THAT(metrics.at("frontend_bound").reason, HasSubstr("not supported"));
    EXPECT_FALSE(metrics.at("retiring").bottleneck);
}

TEST(Assess, CountsThatCannotBeZeroMakeNoMetric) {
    const auto table = table_of("amdzen4");
    auto events = zen4_counts();
    events.front().reading.raw = 0;  // cycles
    events.front().reading.value = 0;
    flag_impossible_zeros(table, events);
    EXPECT_EQ(events.front().note, record::Note::impossible_zero);
    EXPECT_EQ(std::ranges::count(events, record::Note::impossible_zero, &record::Event::note), 1)
        << "smt_contention may be 0";
    const auto metrics = assessed(table, events);
    EXPECT_EQ(metrics.at("frontend_bound").status, record::Status::unavailable);
    EXPECT_THAT(metrics.at("frontend_bound").reason, HasSubstr("counted 0, which it cannot"));

    auto idle = zen4_counts();
    idle.front().reading = {};
    flag_impossible_zeros(table, idle);
    EXPECT_EQ(idle.front().note, record::Note::none) << "what never ran is not counted, and says so itself";
}

TEST(Assess, AnEventThatIsNotImplementedMakesNoMetric) {
    auto events = zen4_counts();
    events[1].note = record::Note::not_implemented;
    events[1].reading.raw = 0;
    events[1].reading.value = 0;
    const auto metrics = assessed(table_of("amdzen4"), events);
    EXPECT_EQ(metrics.at("frontend_bound").status, record::Status::unavailable);
    EXPECT_THAT(metrics.at("frontend_bound").reason, HasSubstr("not implemented"));
    EXPECT_EQ(metrics.at("backend_bound").status, record::Status::measured);
}

TEST(Assess, TakesAMetricsEventsFromOneGroup) {
    // The front end was counted twice: with its own cycles in group 1, alone in group 0.
    std::vector<record::Event> events = {counted("de_no_dispatch_per_slot.no_ops_from_frontend", 600, 0),
                                         counted("ls_not_halted_cyc", 2000, 1),
                                         counted("de_no_dispatch_per_slot.no_ops_from_frontend", 1200, 1)};
    const auto metrics = assessed(table_of("amdzen4"), events);
    EXPECT_DOUBLE_EQ(metrics.at("frontend_bound").value, 0.1);
}

TEST(Assess, CarriesSharesAndBounds) {
    auto events = zen4_counts();
    events[3].reading.time_running_ns = 250;
    events[3].low = 2700;
    events[3].high = 3600;
    const auto metrics = assessed(table_of("amdzen4"), events);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").counted_share, 0.25);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").low, 0.45);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").high, 0.6);
    EXPECT_DOUBLE_EQ(metrics.at("frontend_bound").low, metrics.at("frontend_bound").high);
}

TEST(Assess, KnowsThatEventsOfOneGroupWereScaledAlike) {
    // A quarter of two seconds, in slices of 4 ms: 125 of 500.
    const auto multiplexed = [](const std::string& name, double value, int group) {
        record::Event event = counted(name, value, group);
        event.reading.time_enabled_ns = 2'000'000'000;
        event.reading.time_running_ns = 500'000'000;
        event.low = value * 0.8;
        event.high = value * 1.2;
        return event;
    };
    const auto table = table_of("amdzen4");
    const double half = 1.96 * std::sqrt(0.5 * 0.5 * 0.75 / 125);
    const auto together = assessed(table, {multiplexed("ls_not_halted_cyc", 1000, 1),
                                           multiplexed("de_no_dispatch_per_slot.backend_stalls", 3000, 1)});
    EXPECT_NEAR(together.at("backend_bound").low, 0.5 - half, 1e-9);
    EXPECT_NEAR(together.at("backend_bound").high, 0.5 + half, 1e-9);
    const auto apart = assessed(table, {multiplexed("ls_not_halted_cyc", 1000, 1),
                                        multiplexed("de_no_dispatch_per_slot.backend_stalls", 3000, 2)});
    EXPECT_NEAR(apart.at("backend_bound").low, 0.5 * 0.8 / 1.2, 1e-9);
    EXPECT_NEAR(apart.at("backend_bound").high, 0.5 * 1.2 / 0.8, 1e-9);
}

TEST(Assess, WidensByRepetitions) {
    AssessRequest request;
    auto slower = zen4_counts();
    slower[0].reading.value = 1250;
    request.repetitions = {zen4_counts(), slower};
    const auto metrics = assessed(table_of("amdzen4"), zen4_counts(), request);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").low, 0.4);
    EXPECT_DOUBLE_EQ(metrics.at("backend_bound").high, 0.5);
}

TEST(Assess, MatchesByEncodingHoweverSpelt) {
    for (const std::string cycles : {"cycles", "r76", "cpu/event=0x76/", "cpu/config=0x76/", "LS_NOT_HALTED_CYC:u"}) {
        const std::string stalls = cycles.ends_with(":u") ? "r100001ea0:u" : "r100001ea0";
        const auto metrics = assessed(table_of("amdzen4"), {counted(cycles, 1000), counted(stalls, 1500)});
        EXPECT_DOUBLE_EQ(metrics.at("backend_bound").value, 0.25) << cycles;
    }
}

TEST(Assess, KernelModeAloneIsNotTheWhole) {
    const std::vector<record::Event> kernel = {counted("cycles:k", 1000), counted("cpu/config=0x100001ea0/k", 1500)};
    EXPECT_EQ(assessed(table_of("amdzen4"), kernel).at("backend_bound").status, record::Status::unavailable);
    auto both = kernel;
    both.push_back(counted("cycles:u", 1000));
    both.push_back(counted("r100001ea0:u", 600));
    EXPECT_DOUBLE_EQ(assessed(table_of("amdzen4"), both).at("backend_bound").value, 0.1);
}

TEST(Assess, KeepsTheTwoPmusOfAHybridApart) {
    const auto table = table_of("alderlake");
    auto core = counted("cpu_core/topdown-be-bound/", 25), rest = counted("cpu_core/topdown-retiring/", 75);
    auto front = counted("cpu_core/topdown-fe-bound/", 0), bad = counted("cpu_core/topdown-bad-spec/", 0);
    auto slots = counted("cpu_core/slots/", 100), dropped = counted("cpu_core/INT_MISC.UOP_DROPPING/", 0);
    for (auto* event : {&core, &rest, &front, &bad, &slots, &dropped}) event->pmu = "cpu_core";
    auto cycles = counted("cpu_atom/CPU_CLK_UNHALTED.CORE/", 100),
         backend = counted("cpu_atom/TOPDOWN_BE_BOUND.ALL/", 300);
    cycles.pmu = backend.pmu = "cpu_atom";
    const std::vector<record::Event> events = {core, rest, front, bad, slots, dropped, cycles, backend};
    EXPECT_DOUBLE_EQ(assessed(table, events).at("tma_backend_bound").value, 0.25);
    AssessRequest atom;
    atom.pmu = "cpu_atom";
    EXPECT_DOUBLE_EQ(assessed(table, events, atom).at("tma_backend_bound").value, 0.6);
}

}  // namespace
}  // namespace tmaprobe::judge
