#include "experiments/interference.h"

#include <gtest/gtest.h>

#include "experiments/interference_states.h"
#include "judge/interference_findings.h"

namespace tmaprobe::experiments {
namespace {

namespace resctrl = counters::resctrl;

Result<resctrl::Info> hardware() {
    resctrl::Info info;
    info.caches.push_back({"L3", 0xf, 1, false, 4});
    info.bandwidth = resctrl::BandwidthControl{50, 50, 100, true, false, 4};
    info.monitors = {"llc_occupancy"};
    info.default_schemata = "MB:0=100\nL3:0=f\n";
    return info;
}

Result<resctrl::Info> no_hardware() { return fail(ErrorCode::unavailable, "not mounted", "mount it"); }

std::vector<std::string> names(const Result<std::vector<LoadState>>& states) {
    std::vector<std::string> all;
    EXPECT_TRUE(states) << states.error().what;
    for (const auto& state : states.value_or(std::vector<LoadState>{})) all.push_back(state.name);
    return all;
}

/// Outcomes whose records tell by their metric which round they are.
judge::Outcomes outcomes_of(const std::vector<double>& ns) {
    judge::Outcomes outcomes;
    for (const double each : ns) {
        record::Record record;
        record.runs.emplace_back();
        auto& run = record.runs.front();
        run.time.known = true;
        run.time.ns_per_op.median = each;
        run.time.bytes_per_second.count = 1;
        run.time.bytes_per_second.median = 8e9 / each;
        record::Metric metric;
        metric.name = "memory_bound";
        metric.status = record::Status::measured;
        metric.value = metric.low = metric.high = each;
        run.metrics.push_back(metric);
        outcomes.records.push_back(std::move(record));
        outcomes.ns_per_op.push_back(each);
    }
    return outcomes;
}

record::Run step(const std::string& state, double against_alone) {
    record::Run run;
    auto& finding = run.extra.state.emplace();
    finding.name = state;
    finding.against_alone = against_alone;
    const auto control = value_named<record::AllocationControl>(state.substr(0, 2));
    if (control) run.extra.allocation = record::Allocation{*control, 1, "", 4};
    return run;
}

TEST(InterferenceStates, BothLimitsAlsoMakeTheIsolatedState) {
    InterferenceRequest request;
    EXPECT_EQ(names(choose_states(request, hardware())), (std::vector<std::string>{"alone", "with neighbour"}));
    request.limit = resctrl::Limit{0x3, {}};
    request.protect = resctrl::Limit{0xc, {}};
    const auto states = choose_states(request, hardware());
    ASSERT_EQ(names(states), (std::vector<std::string>{"alone", "with neighbour", "neighbour limited",
                                                       "victim protected", "isolated"}));
    EXPECT_EQ(states->back().victim_schemata, "L3:0=c\n");
    EXPECT_EQ(states->back().aggressor_schemata, "L3:0=3\n");
    EXPECT_EQ(names(choose_states(request, no_hardware())), (std::vector<std::string>{"alone", "with neighbour"}));
}

TEST(InterferenceStates, AllocationsAreStepsOfTheVictimAlone) {
    InterferenceRequest request;
    request.allocations = {"l3", "mb"};
    const auto states = choose_states(request, hardware());
    EXPECT_EQ(names(states),
              (std::vector<std::string>{"alone", "l3=0x1 (1 of 4 bits)", "l3=0x3 (2 of 4 bits)", "l3=0x7 (3 of 4 bits)",
                                        "l3=0xf (4 of 4 bits)", "mb=50 (percent)", "mb=100 (percent)"}));
    for (const auto& state : *states) EXPECT_FALSE(state.loaded) << state.name;
    EXPECT_EQ((*states)[1].victim_schemata, "L3:0=1\n");
}

TEST(InterferenceStates, AllocationsSayWhatTheyCannot) {
    InterferenceRequest request;
    request.allocations = {"l3"};
    const auto without = choose_states(request, no_hardware());
    ASSERT_FALSE(without);
    EXPECT_EQ(exit_status(without.error()), 1);
    EXPECT_EQ(without.error().what, "--allocations needs resctrl: not mounted");
    EXPECT_EQ(without.error().hint, "mount it");
    request.limit = resctrl::Limit{0x3, {}};
    EXPECT_EQ(choose_states(request, hardware()).error().code, ErrorCode::bad_usage);
    request = {};
    request.allocations = {"l2"};
    EXPECT_EQ(choose_states(request, hardware()).error().code, ErrorCode::bad_usage);
}

TEST(InterferenceFindings, TheMiddleRoundStandsForAll) {
    const auto run =
        judge::summarize_state("with neighbour", outcomes_of({12, 30, 10, 11, 13}), outcomes_of({10, 10, 10, 10, 10}));
    EXPECT_EQ(run.time.ns_per_op.median, 12);
    EXPECT_EQ(run.time.ns_per_op.max, 30);
    EXPECT_EQ(run.metrics.front().value, 12);
    EXPECT_EQ(run.metrics.front().low, 10);
    EXPECT_EQ(run.metrics.front().high, 30);
    EXPECT_NEAR(run.time.bytes_per_second.median, 8e9 / 12, 1);
    EXPECT_NEAR(*run.extra.state->against_alone, 0.2, 1e-9);
    EXPECT_FALSE(judge::summarize_state("alone", outcomes_of({1, 2}), outcomes_of({1, 2})).extra.state->against_alone);
}

TEST(InterferenceFindings, EachRoundIsComparedWithItsOwn) {
    // The machine drifts to half its speed; the neighbour costs 10% in each round.
    const auto run = judge::summarize_state("with neighbour", outcomes_of({11, 13.2, 15.4, 17.6, 22}),
                                            outcomes_of({10, 12, 14, 16, 20}));
    EXPECT_NEAR(*run.extra.state->against_alone, 0.1, 1e-9);
    EXPECT_NE(judge::state_sentence(run).find("10.0% slower than alone"), std::string::npos)
        << judge::state_sentence(run);
}

TEST(InterferenceFindings, NoiseIsCalledNoise) {
    const auto run =
        judge::summarize_state("with neighbour", outcomes_of({9, 11, 10, 12, 8}), outcomes_of({10, 10, 10, 10, 10}));
    EXPECT_NE(judge::state_sentence(run).find("no difference that stands out"), std::string::npos)
        << judge::state_sentence(run);
}

/// As `outcomes`, and in these rounds hardly a repetition was undisturbed.
judge::Outcomes disturbed_in(judge::Outcomes outcomes, const std::vector<std::size_t>& rounds) {
    for (const std::size_t round : rounds) {
        auto& time = outcomes.records[round].runs.front().time;
        time.clean = 1;
        time.disturbed = 4;
        time.causes = {{record::DisturbanceCause::waited_for_cpu, 4, 0.6, 0.7}};
    }
    return outcomes;
}

TEST(InterferenceFindings, OfFewerThanThreeUndisturbedRoundsThereAreNone) {
    const auto alone = outcomes_of({10, 10, 10, 10});
    const auto loaded = outcomes_of({12, 12, 12, 30});
    const auto three = judge::summarize_state("with neighbour", disturbed_in(loaded, {3}), alone);
    EXPECT_NEAR(*three.extra.state->against_alone, 0.2, 1e-9);
    const auto two = judge::summarize_state("with neighbour", disturbed_in(loaded, {3}), disturbed_in(alone, {0}));
    EXPECT_FALSE(two.extra.state->against_alone || two.extra.state->against_alone_low ||
                 two.extra.state->against_alone_high);
    const std::string said = judge::state_sentence(two);
    EXPECT_EQ(said.rfind("with neighbour: not compared with alone (2 of 4 rounds", 0), 0U) << said;
    EXPECT_NE(said.find("had it 40% of the time"), std::string::npos) << said;
    EXPECT_EQ(said.find("slower"), std::string::npos) << said;
    auto step_of_two = two;
    step_of_two.extra.state->name = "l3=0x1 (1 of 4 bits)";
    step_of_two.extra.allocation = record::Allocation{record::AllocationControl::l3, 1, "bits", 4};
    EXPECT_EQ(judge::allocation_sentence({step_of_two}, record::AllocationControl::l3),
              "l3: too few undisturbed rounds to say which share is enough");
}

TEST(InterferenceFindings, TheLeastShareThatIsEnough) {
    const std::vector<record::Run> runs{step("alone", 0),
                                        step("l3=0x1 (1 of 4 bits)", 0.8),
                                        step("l3=0x3 (2 of 4 bits)", 0.01),
                                        step("l3=0x7 (3 of 4 bits)", 0.06),
                                        step("l3=0xf (4 of 4 bits)", -0.01),
                                        step("mb=50 (percent)", 0.5)};
    EXPECT_EQ(judge::allocation_sentence(runs, record::AllocationControl::l3),
              "l3: from l3=0xf (4 of 4 bits) on the victim is within 5% of alone");
    EXPECT_EQ(judge::allocation_sentence(runs, record::AllocationControl::mb),
              "mb: even at the last step the victim is more than 5% slower than alone");
    EXPECT_EQ(judge::allocation_sentence({runs.front()}, record::AllocationControl::l3), "");
}

}  // namespace
}  // namespace tmaprobe::experiments
