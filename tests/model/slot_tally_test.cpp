#include "model/slot_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tmaprobe::model {
namespace {

using core::SlotCause;
using testing::ElementsAre;
using testing::Pair;

/// Two instructions, executed in turn: the first two steps in path 1, the others in path 2.
trace::Trace two_paths() {
    trace::Trace trace;
    trace.instructions.resize(2);
    trace.instructions[0].address = 0x1000;
    trace.instructions[1].address = 0x2000;
    for (std::uint32_t step = 0; step < 4; ++step) {
        trace::Step& one = trace.steps.emplace_back();
        one.instruction = step % 2;
        one.load = 0x10000;
        one.regions = step < 2 ? 1 : 2;
    }
    return trace;
}

void note(SlotTally& tally) {
    for (std::uint32_t step = 0; step < 4; ++step) {
        tally.slots(SlotCause::retiring, step, 1 + step);
        tally.slots(SlotCause::dram, step, 10);
        tally.loaded(step, 100, true);
    }
}

std::map<std::uint64_t, std::uint64_t> sums(const counters::InstructionSlots& slots) {
    std::map<std::uint64_t, std::uint64_t> sums;
    slots.for_each([&](std::uint64_t address, const counters::SlotsByCause& causes) {
        for (const std::uint64_t count : causes) sums[address] += count;
    });
    return sums;
}

TEST(SlotTally, HasTheSlotsOfEachInstruction) {
    const trace::Trace trace = two_paths();
    SlotTally tally(trace);
    note(tally);
    EXPECT_THAT(sums(tally.by_address()), ElementsAre(Pair(0x1000, 24), Pair(0x2000, 26)));
}

TEST(SlotTally, OfSomeRegionsHasTheirStepsAloneAndTimesOfAll) {
    const trace::Trace trace = two_paths();
    SlotTally tally(trace);
    tally.only_in([](std::uint32_t path) { return path == 2; });
    note(tally);
    EXPECT_THAT(sums(tally.by_address()), ElementsAre(Pair(0x1000, 13), Pair(0x2000, 14)));
    EXPECT_THAT(tally.by_instruction(), ElementsAre(13, 14));
    std::uint64_t executions = 0, loads = 0;
    tally.events_by_address({}, 0).for_each([&](std::uint64_t, const counters::InstructionEvents::Counts& counts) {
        executions += counts.executions;
        loads += counts.loads;
    });
    EXPECT_EQ(executions, 2u);
    EXPECT_EQ(loads, 2u);
    std::uint64_t waits = 0;
    tally.by_access({}, trace::PageMap::uniform(4096)).for_each([&](const counters::AccessSlots::Access& access) {
        for (const std::uint64_t slots : access.slots) waits += slots;
    });
    EXPECT_EQ(waits, 20u);
    EXPECT_THAT(tally.time_by_address(), ElementsAre(Pair(0x1000, 24), Pair(0x2000, 26)));
}

TEST(SlotTally, TellsBlocksOfOnePageApart) {
    trace::Trace trace = two_paths();
    for (trace::Step& step : trace.steps) step.load = 0x5000;
    trace.steps.back().load = 0x5040;
    SlotTally tally(trace);
    note(tally);
    std::map<std::uint32_t, std::uint64_t> waits;
    tally
        .by_access({}, trace::PageMap::uniform(4096),
                   [](std::uint64_t address) { return address < 0x5040 ? 1u : (1u << 24) - 1; })
        .for_each([&](const counters::AccessSlots::Access& access) {
            for (const std::uint64_t slots : access.slots) waits[access.allocation] += slots;
            EXPECT_EQ(access.data, access.allocation == 1 ? 0x5000u : 0x5040u);
            EXPECT_FALSE(access.in_huge_page);
        });
    std::uint64_t sum = 0;
    for (const auto& [allocation, slots] : waits) sum += slots;
    EXPECT_EQ(waits.size(), 2u);
    std::uint64_t all = 0;
    tally.by_access({}, trace::PageMap::uniform(4096)).for_each([&](const counters::AccessSlots::Access& access) {
        for (const std::uint64_t slots : access.slots) all += slots;
        EXPECT_EQ(access.allocation, 0u);
    });
    EXPECT_EQ(sum, all);
}

TEST(SlotTally, HasTheTimesOfEachPathOfRegions) {
    const trace::Trace trace = two_paths();
    SlotTally tally(trace);
    note(tally);
    EXPECT_THAT(tally.time_by_region({}), ElementsAre(Pair(1, ElementsAre(Pair(0x1000, 11), Pair(0x2000, 12))),
                                                      Pair(2, ElementsAre(Pair(0x1000, 13), Pair(0x2000, 14)))));
}

}  // namespace
}  // namespace tmaprobe::model
