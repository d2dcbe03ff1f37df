#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include "tests/model/fixture.h"

namespace tmaprobe::model {
namespace {

#if defined(__x86_64__)

Result<counters::Sample> model_repeatably(
    std::vector<std::string> command, std::function<double()> core_clock_hz = [] { return 2e9; }) {
    const auto table = TRY(events::load({}, "amdzen4"));
    ModelOptions options;
    options.repeatable = true;
    options.core_clock_hz = std::move(core_clock_hz);
    auto source = TRY(make_source({}, table, host_of_test(), options));
    TRY(source->prepare(plan_of(table, tree_metrics(table))));
    CommandWorkload workload(std::move(command));
    return source->measure(workload, {0, 0, 1});
}

/// Some millions of instructions, with a phase of another kind at its end.
const std::vector<std::string> counting{"/bin/sh", "-c",
                                        "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done; "
                                        "while [ ${#i} -lt 2000 ]; do i=x$i$i; done; exit 3"};

TEST(RepeatableCommand, GivesTheSameValuesBitForBitHoweverItsEnvironmentIsOrdered) {
    ::unsetenv("TMAPROBE_TEST_A");
    ::unsetenv("TMAPROBE_TEST_B");
    ::setenv("TMAPROBE_TEST_A", "1", 1);
    ::setenv("TMAPROBE_TEST_B", "2", 1);
    const auto one = model_repeatably(counting);
    ASSERT_TRUE(one.has_value()) << one.error().what;
    ::unsetenv("TMAPROBE_TEST_A");
    ::setenv("TMAPROBE_TEST_A", "1", 1);
    const auto other = model_repeatably(counting);
    ASSERT_TRUE(other.has_value()) << other.error().what;
    EXPECT_EQ(one->exit_status, 3);
    ASSERT_TRUE(one->model && other->model);
    EXPECT_GE(one->model->windows, 5u);
    EXPECT_GT(one->model->cycles, 0);
    EXPECT_EQ(one->model->facts, other->model->facts);
    ASSERT_EQ(one->events.size(), other->events.size());
    for (std::size_t i = 0; i < one->events.size(); ++i)
        EXPECT_EQ(one->events[i].reading.value, other->events[i].reading.value) << one->events[i].name;
    ASSERT_TRUE(one->model->clock_check);
    EXPECT_EQ(one->model->clock_check->modelled_ns, other->model->clock_check->modelled_ns);
}

const std::vector<std::string> counting_less{"/bin/sh", "-c", "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done"};

std::vector<std::string> ids_of_warnings(const counters::Sample& sample) {
    std::vector<std::string> ids;
    for (const auto& warning : sample.warnings) ids.push_back(warning.id);
    return ids;
}

TEST(RepeatableCommand, AClockThatANeighbourDisturbsIsMeasuredAgain) {
    int times = 0;
    const auto sample = model_repeatably(counting_less, [&] { return ++times < 3 ? 0.0 : 2e9; });
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(times, 3);
    EXPECT_TRUE(sample->model->clock_check);
    EXPECT_THAT(ids_of_warnings(*sample), testing::Not(testing::Contains("model_not_judged")));
}

TEST(RepeatableCommand, WhatIsNotHeldAgainstTheClockIsSaid) {
    const auto shared = model_repeatably(counting_less, [] { return 0.0; });
    ASSERT_TRUE(shared.has_value()) << shared.error().what;
    EXPECT_FALSE(shared->model->clock_check);
    EXPECT_THAT(ids_of_warnings(*shared), testing::Contains("model_not_judged"));
    const auto with_child =
        model_repeatably({"/bin/sh", "-c", "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; /bin/true; exit 0"});
    ASSERT_TRUE(with_child.has_value()) << with_child.error().what;
    EXPECT_FALSE(with_child->model->clock_check);
    EXPECT_THAT(ids_of_warnings(*with_child), testing::Contains("model_not_judged"));
    const auto of_another_machine = model_repeatably(counting_less, {});
    ASSERT_TRUE(of_another_machine.has_value()) << of_another_machine.error().what;
    EXPECT_THAT(ids_of_warnings(*of_another_machine), testing::Not(testing::Contains("model_not_judged")));
}

TEST(RepeatableCommand, ItsSideEffectsHappenOnceAndItsStatusIsItsOwn) {
    const std::string file = testing::TempDir() + "repeatable_" + std::to_string(::getpid());
    const auto sample = model_repeatably({"/bin/sh", "-c", "echo once >> " + file + "; kill -TERM $$"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    std::ifstream written(file);
    const std::string text{std::istreambuf_iterator<char>(written), {}};
    std::remove(file.c_str());
    EXPECT_EQ(text, "once\n");
    constexpr int terminated = 128 + 15;
    EXPECT_EQ(sample->exit_status, terminated);
}

#endif

}  // namespace
}  // namespace tmaprobe::model
