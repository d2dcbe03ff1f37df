#include "model/event_counter.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "base/sizes.h"

namespace tmaprobe::model {
namespace {

constexpr std::uint64_t page = 4 * kib;

ModelledCpu small_cpu() {
    ModelledCpu cpu;
    cpu.l1_data.size_bytes = 32 * kib;
    cpu.l1_data.ways = 8;
    cpu.l2.size_bytes = 512 * kib;
    cpu.l2.ways = 8;
    cpu.tlbs = {{1, events::Holds::data, {page}, 64, -1}};
    return cpu;
}

trace::StaticInstruction a_load() {
    trace::StaticInstruction instruction;
    instruction.address = 0x1000;
    instruction.length = 4;
    instruction.loads = true;
    return instruction;
}

std::uint32_t count(EventCounter& counter, DearEvent event) {
    std::uint32_t sum = 0;
    for (const auto& one : counter.take()) sum += one.events[static_cast<std::size_t>(event)];
    return sum;
}

/// Loads at `address(i)`, after as many that only fill caches.
template <class Address>
EventCounter loads(std::uint64_t times, const Address& address) {
    EventCounter counter(small_cpu());
    for (std::uint64_t i = 0; i < times; ++i) counter.execute(a_load(), {0, address(i), 0});
    counter.take();
    for (std::uint64_t i = 0; i < times; ++i) counter.execute(a_load(), {0, address(i), 0});
    return counter;
}

TEST(EventCounter, TellsFromWhichLevelScatteredLoadsCome) {
    Random random(1);
    const auto within = [&](std::uint64_t bytes) {
        return [&random, bytes](std::uint64_t) { return mib + random.below(bytes / 64) * 64; };
    };
    constexpr std::uint64_t times = 20'000;
    auto near = loads(times, within(16 * kib));
    EXPECT_EQ(count(near, DearEvent::from_l2), 0u);
    auto further = loads(times, within(256 * kib));
    EXPECT_GT(count(further, DearEvent::from_l2), times / 2);
    auto far = loads(times, within(64 * mib));
    EXPECT_GT(count(far, DearEvent::from_beyond), times / 2);
    auto pages = loads(times, within(64 * mib));
    EXPECT_GT(count(pages, DearEvent::new_page), times / 2);
}

TEST(EventCounter, LinesThatFollowOneAnotherAreForeseen) {
    auto counter = loads(20'000, [](std::uint64_t i) { return mib + i % 16'384 * 64; });
    const auto all = counter.take();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all.front().executions, 20'000u);
    EXPECT_LT(all.front().events[static_cast<std::size_t>(DearEvent::from_l2)], 10u);
    EXPECT_LT(all.front().events[static_cast<std::size_t>(DearEvent::from_beyond)], 10u);
}

/// A branch that goes where `taken(i)` says, and what it leads to.
template <class Taken>
EventCounter branches(std::uint32_t times, const Taken& taken, std::vector<EventBits>* events = nullptr) {
    trace::StaticInstruction branch;
    branch.address = 0x2000;
    branch.length = 2;
    branch.branch = branch.conditional = true;
    branch.target = 0x2100;
    trace::StaticInstruction next;
    next.length = 4;
    EventCounter counter(small_cpu());
    counter.note_to(events);
    for (std::uint32_t i = 0; i < times; ++i) {
        const bool goes = taken(i);
        counter.execute(branch, {0, 0, 0});
        next.address = goes ? 0x2100 : 0x2002;
        counter.execute(next, {goes ? 1u : 2u, 0, 0});
    }
    return counter;
}

TEST(EventCounter, CountsWhatIsMispredicted) {
    constexpr std::uint32_t times = 10'000;
    Random random(2);
    auto always = branches(times, [](std::uint32_t) { return true; });
    EXPECT_LT(count(always, DearEvent::mispredicted), times / 100);
    std::vector<EventBits> events;
    auto by_chance = branches(times, [&](std::uint32_t) { return random.below(2) == 1; }, &events);
    const std::uint32_t mispredicted = count(by_chance, DearEvent::mispredicted);
    EXPECT_NEAR(mispredicted, times / 2, times / 10);
    // What is noted is the same, at the branches.
    ASSERT_EQ(events.size(), 2 * times);
    std::uint32_t noted = 0;
    for (std::uint32_t i = 0; i < times; ++i) {
        noted += events[2 * i] & 1;
        EXPECT_EQ(events[2 * i + 1], 0);
    }
    EXPECT_EQ(noted, mispredicted);
}

TEST(EventCounter, WhatWasNotFollowedIsNoBranchesDoing) {
    EventCounter counter(small_cpu());
    trace::StaticInstruction branch;
    branch.address = 0x2000;
    branch.length = 2;
    branch.branch = branch.conditional = true;
    branch.target = 0x2100;
    for (int i = 0; i < 100; ++i) {
        counter.execute(branch, {0, 0, 0}, i % 2 == 0);
        counter.execute(branch, {0, 0, 0}, false);
    }
    EXPECT_EQ(count(counter, DearEvent::mispredicted), 0u);
}

}  // namespace
}  // namespace tmaprobe::model
