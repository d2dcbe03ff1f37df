#include "record/disturbance.h"

#include <gtest/gtest.h>

#include "record/record.h"

namespace tmaprobe::record {
namespace {

constexpr Cause all_causes[] = {Cause::waited_for_cpu, Cause::partner_waited, Cause::stolen, Cause::interrupted,
                                Cause::issue_slots_shared, Cause::reorder_buffer_halved, Cause::clock_changed};

TEST(Cause, IsFoundByItsName) {
    for (const Cause cause : all_causes) {
        EXPECT_EQ(cause_named(name_of(cause)), cause);
        EXPECT_FALSE(describe(Disturbance{cause, 0.5}).empty());
        EXPECT_FALSE(remedy({{cause, 1, 0.5, 0.5}}).empty());
    }
    EXPECT_FALSE(cause_named("bad luck"));
}

TEST(Disturbance, SaysItsSize) {
    EXPECT_EQ(describe(Disturbance{Cause::waited_for_cpu, 0.97}), "waited for the CPU: had it 3% of the time");
    EXPECT_EQ(describe(Disturbance{Cause::issue_slots_shared, 0.49}),
              "another hyperthread of this core was busy: it took 49% of the core's issue slots");
    EXPECT_EQ(describe(Disturbance{Cause::reorder_buffer_halved, 0.5}), "another hyperthread of this core was active: the reorder buffer was halved");
    EXPECT_EQ(describe(Disturbance{Cause::clock_changed, -0.2}), "the core clock changed: by -20%");
}

TEST(Disturbances, AreCountedByCauseTheMostFrequentFirst) {
    const auto causes = count_causes({{Cause::clock_changed, -0.3}, {Cause::waited_for_cpu, 0.9}, {Cause::waited_for_cpu, 0.4}, {Cause::waited_for_cpu, 0.5}});
    ASSERT_EQ(causes.size(), 2U);
    EXPECT_EQ(causes[0].cause, Cause::waited_for_cpu);
    EXPECT_EQ(causes[0].repetitions, 3);
    EXPECT_DOUBLE_EQ(causes[0].median, 0.5);
    EXPECT_DOUBLE_EQ(causes[0].most, 0.9);
    EXPECT_DOUBLE_EQ(causes[1].most, -0.3);
    EXPECT_EQ(describe(causes), "in 3 the thread waited for its CPU (had it 50% of the time, at worst 10%), "
                                "in 1 the core clock changed (by -30%)");
    EXPECT_EQ(describe(std::vector<DisturbedBy>{}), "");
}

TEST(Disturbances, UpAndDownDoNotCancel) {
    const auto causes = count_causes({{Cause::clock_changed, 0.06}, {Cause::clock_changed, -0.09}});
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
    time.clock = "processor";
    time.causes = {{Cause::stolen, 1, 0.25, 0.25}};
    const auto text = serialize(record);
    const auto read = parse_records(text, "it");
    ASSERT_TRUE(read) << read.error().what;
    const auto& again = read->at(0).runs.at(0).time;
    EXPECT_EQ(again.clock, "processor");
    ASSERT_EQ(again.causes.size(), 1U);
    EXPECT_EQ(again.causes[0].cause, Cause::stolen);
    EXPECT_DOUBLE_EQ(again.causes[0].most, 0.25);
    std::string broken = text;
    broken.replace(broken.find("stolen"), 6, "strolen");
    EXPECT_FALSE(parse_records(broken, "it"));
}

}  // namespace
}  // namespace tmaprobe::record
