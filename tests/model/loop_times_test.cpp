#include "model/loop_times.h"

#include <gmock/gmock.h>

#include "model/slot_tally.h"
#include "tests/model/core_fixture.h"

namespace tmaprobe::model {
namespace {

#if defined(__x86_64__)

using testing::ElementsAre;
using testing::SizeIs;

const core::Bytes multiply = {0x48, 0x6b, 0xc0, 0x03};  // imul $3, %rax, %rax
const core::Bytes chasing = {0x48, 0x8b, 0x00};         // mov (%rax), %rax
const core::Bytes copy_chased = {0x48, 0x89, 0xc1};     // mov %rax, %rcx
const core::Bytes add_other = {0x48, 0x01, 0xcb};       // add %rcx, %rbx
const core::Bytes back_over_7 = {0x75, 0xf7};           // jne to what lies seven bytes before it
const core::Bytes back_over_9 = {0x75, 0xf5};

/// As a window is simulated.
std::optional<counters::LoopTimes> loop_of(const trace::Trace& trace, unsigned waits = 0) {
    auto made = core::make_core(core::zen4());
    core::FixedMemory memory([=](std::uint64_t) { return waits; });
    core::NeverWrong branches;
    SlotTally tally(trace);
    core::Execution execution;
    core::Window window{0, trace.steps.size(), 0, {}, &tally};
    window.execution = &execution;
    EXPECT_TRUE((*made)->simulate(trace, window, memory, branches).has_value());
    return loop_times(trace, 0, tally.by_instruction(), execution, (*made)->port_names());
}

TEST(LoopTimes, HaveTheChainThatGoesAround) {
    const auto loop =
        loop_of(core::trace_of({multiply, add_other, back_over_7}, 3000, [](std::size_t) { return 0x100000; }));
    ASSERT_TRUE(loop);
    EXPECT_EQ(loop->cycles, 3) << "what a multiplication takes";
    EXPECT_GT(loop->times_around, 900u);
    ASSERT_THAT(loop->steps, SizeIs(3));
    EXPECT_EQ(loop->steps[0].address, 0x401000u) << "it begins where the branch leads to";
    EXPECT_EQ(loop->hottest, 0x401000u);
    EXPECT_THAT(loop->chain, ElementsAre(0));
    EXPECT_THAT(loop->chain_cycles, ElementsAre(3));
    EXPECT_EQ(loop->chain_times_around, 1u);
    EXPECT_EQ(loop->steps[0].waits_for, 0u);
    double ports = 0;
    for (const auto& [port, cycles] : loop->port_cycles) ports += cycles;
    EXPECT_NEAR(ports, 3, 0.1) << "an operation each";
    for (const auto& step : loop->steps) {
        EXPECT_LE(step.renamed, step.issued);
        EXPECT_LE(step.issued, step.done);
        EXPECT_LE(step.done, step.retired);
        EXPECT_FALSE(step.ports.empty());
    }
}

TEST(LoopTimes, FollowAResultThroughACopy) {
    const auto loop = loop_of(core::trace_of({chasing, copy_chased, add_other, back_over_9}, 4000,
                                             [](std::size_t step) { return 0x100000 + step * 4096; }),
                              50);
    ASSERT_TRUE(loop);
    EXPECT_GT(loop->cycles, 50);
    EXPECT_THAT(loop->chain, ElementsAre(0)) << "each load waits for the one before it";
    EXPECT_EQ(static_cast<double>(loop->chain_cycles[0]), loop->cycles);
}

TEST(LoopTimes, AreNotThereWhereNothingComesAgain) {
    std::vector<core::Bytes> straight(2000, multiply);
    EXPECT_FALSE(loop_of(core::trace_of(straight, 2000, [](std::size_t) { return 0; })));
    // Too far apart to be shown.
    straight.resize(300);
    EXPECT_FALSE(loop_of(core::trace_of(straight, 3000, [](std::size_t) { return 0; })));
}

#endif

}  // namespace
}  // namespace tmaprobe::model
