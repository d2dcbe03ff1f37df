#include "record/disturbance.h"

#include "record/json/file.h"

#include <gtest/gtest.h>

#include "record/record.h"

namespace tmaprobe::record {
namespace {

constexpr DisturbanceCause all_causes[] = {
    DisturbanceCause::waited_for_cpu, DisturbanceCause::partner_waited,     DisturbanceCause::stolen,
    DisturbanceCause::interrupted,    DisturbanceCause::issue_slots_shared, DisturbanceCause::reorder_buffer_halved,
    DisturbanceCause::clock_changed};

TEST(Cause, IsFoundByItsName) {
    for (const DisturbanceCause cause : all_causes) {
        EXPECT_EQ(value_named<DisturbanceCause>(name_of(cause)), cause);
        EXPECT_FALSE(describe(Disturbance{cause, 0.5}).empty());
        EXPECT_FALSE(remedy({{cause, 1, 0.5, 0.5}}).empty());
    }
    EXPECT_FALSE(value_named<DisturbanceCause>("bad luck"));
}

TEST(Disturbance, SaysItsSize) {
    EXPECT_EQ(describe(Disturbance{DisturbanceCause::waited_for_cpu, 0.97}),
              "waited for the CPU: had it 3% of the time");
    EXPECT_EQ(describe(Disturbance{DisturbanceCause::issue_slots_shared, 0.49}),
              "another hyperthread of this core was busy: it took 49% of the core's issue slots");
    EXPECT_EQ(describe(Disturbance{DisturbanceCause::reorder_buffer_halved, 0.5}),
              "another hyperthread of this core was active: the reorder buffer was halved");
    EXPECT_EQ(describe(Disturbance{DisturbanceCause::clock_changed, -0.2}), "the core clock changed: by -20%");
}

TEST(Disturbances, AreCountedByCauseTheMostFrequentFirst) {
    const auto causes = count_causes({{DisturbanceCause::clock_changed, -0.3},
                                      {DisturbanceCause::waited_for_cpu, 0.9},
                                      {DisturbanceCause::waited_for_cpu, 0.4},
                                      {DisturbanceCause::waited_for_cpu, 0.5}});
    ASSERT_EQ(causes.size(), 2U);
    EXPECT_EQ(causes[0].cause, DisturbanceCause::waited_for_cpu);
    EXPECT_EQ(causes[0].repetitions, 3);
    EXPECT_DOUBLE_EQ(causes[0].median, 0.5);
    EXPECT_DOUBLE_EQ(causes[0].most, 0.9);
    EXPECT_DOUBLE_EQ(causes[1].most, -0.3);
    EXPECT_EQ(describe(causes),
              "in 3 the thread waited for its CPU (had it 50% of the time, at worst 10%), "
              "in 1 the core clock changed (by -30%)");
    EXPECT_EQ(describe(std::vector<DisturbedBy>{}), "");
}

TEST(Disturbances, UpAndDownDoNotCancel) {
    const auto causes =
        count_causes({{DisturbanceCause::clock_changed, 0.06}, {DisturbanceCause::clock_changed, -0.09}});
    EXPECT_EQ(describe(causes), "in 2 the core clock changed (by -8%, at worst -9%)");
}

TEST(Disturbances, AreTheSameWhenReadBack) {
    Record record;
    record.runs.emplace_back();
    auto& time = record.runs[0].time;
    time.known = true;
    time.ns_per_op = summarize({10, 11});
    time.clean = 1;
    time.disturbed = 1;
    time.clock = ClockKind::processor;
    time.causes = {{DisturbanceCause::stolen, 1, 0.25, 0.25}};
    const auto text = serialize(record);
    const auto read = parse_records(text, "it");
    ASSERT_TRUE(read) << read.error().what;
    const auto& again = read->at(0).runs.at(0).time;
    EXPECT_EQ(again.clock, ClockKind::processor);
    ASSERT_EQ(again.causes.size(), 1U);
    EXPECT_EQ(again.causes[0].cause, DisturbanceCause::stolen);
    EXPECT_DOUBLE_EQ(again.causes[0].most, 0.25);
    std::string broken = text;
    broken.replace(broken.find("stolen"), 6, "strolen");
    EXPECT_FALSE(parse_records(broken, "it"));
}

}  // namespace
}  // namespace tmaprobe::record
