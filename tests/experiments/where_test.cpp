#include "experiments/where.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace tmaprobe::experiments {
namespace {

using counters::SlotsByCause;
using record::SlotCause;

SlotsByCause slots(std::uint64_t retiring, std::uint64_t dram) {
    SlotsByCause slots{};
    slots[static_cast<std::size_t>(SlotCause::retiring)] = retiring;
    slots[static_cast<std::size_t>(SlotCause::dram)] = dram;
    return slots;
}

/// A window of a process that has code of no file at 0x1000, and a program that was replaced at 0x10000.
counters::AttributedWindow window(double weight, const std::map<std::uint64_t, SlotsByCause>& by_address) {
    counters::AttributedWindow window;
    window.process = ::getpid();
    window.weight = weight;
    for (const auto& [address, of_it] : by_address) window.slots.add(address, of_it);
    return window;
}

counters::SlotAttribution attribution(std::vector<counters::AttributedWindow> windows, bool differ) {
    counters::SlotAttribution attribution;
    attribution.slot_width = 4;
    attribution.windows_differ = differ;
    attribution.mappings = {{{0x1000, 0x2000, 0, 0, "", false}, {0x10000, 0x11000, 0x3000, 7, "/gone/program", true}}};
    attribution.windows = std::move(windows);
    return attribution;
}

const record::CodePlace& of_module(const record::Where& where, const std::string& module) {
    for (const auto& place : where.modules)
        if (place.module == module) return place;
    ADD_FAILURE() << "no module " << module;
    return where.modules.front();
}

TEST(Where, PartsAddUpAndTheMostSlotsComeFirst) {
    std::vector<record::Warning> warnings;
    const auto where = where_of(
        attribution(
            {window(2, {{0x1004, slots(10, 0)}, {0x10008, slots(20, 30)}}), window(1, {{0x1008, slots(0, 40)}})}, true),
        warnings);
    EXPECT_EQ(where.slots, (record::CauseSlots{{"retiring", 60}, {"dram", 100}}));
    for (const auto* places : {&where.modules, &where.functions, &where.lines, &where.instructions}) {
        record::CauseSlots sum;
        double before = 1;
        for (const auto& place : *places) {
            for (const auto& [cause, count] : place.slots) sum[cause] += count;
            EXPECT_LE(place.share, before);
            before = place.share;
        }
        EXPECT_EQ(sum, where.slots);
    }
    EXPECT_EQ(where.instructions.size(), 3u);
    EXPECT_DOUBLE_EQ(of_module(where, "/gone/program").share, 100.0 / 160);
}

TEST(Where, LoopsAddUpWithWhatIsInNone) {
    auto nested =
        window(2, {{0x1000, slots(1, 0)}, {0x1010, slots(10, 0)}, {0x1020, slots(0, 100)}, {0x1030, slots(5, 0)}});
    nested.runs.add({0x1000, 0x100c, 0x1010});  // into the outer loop, into the inner one, round and out again
    nested.runs.add({0x1010, 0x101c, 0x1020});
    nested.runs.add({0x1020, 0x102c, 0x1020});
    nested.runs.add({0x1020, 0x102c, 0x1030});
    nested.runs.add({0x1030, 0x103c, 0x1010});
    std::vector<record::Warning> warnings;
    const auto where = where_of(attribution({nested, window(1, {{0x1020, slots(3, 0)}})}, true), warnings);
    ASSERT_EQ(where.loops.size(), 3u);
    record::CauseSlots sum;
    for (const auto& place : where.loops)
        for (const auto& [cause, count] : place.slots) sum[cause] += count;
    EXPECT_EQ(sum, where.slots);
    const auto &inner = where.loops[0], &outer = where.loops[1], &no_loop = where.loops[2];
    EXPECT_EQ(inner.address, 0x1020u);
    EXPECT_EQ(inner.loop_depth, 2u);
    EXPECT_EQ(inner.inside, 1u);
    EXPECT_EQ(inner.slots, (record::CauseSlots{{"retiring", 3}, {"dram", 200}}));
    EXPECT_EQ(outer.address, 0x1010u);
    EXPECT_EQ(outer.loop_depth, 1u);
    EXPECT_EQ(outer.inside, std::nullopt);
    EXPECT_DOUBLE_EQ(outer.share, 30.0 / 235);
    EXPECT_DOUBLE_EQ(outer.share_with_inner, 233.0 / 235);
    EXPECT_EQ(no_loop.loop_depth, 0u);
    EXPECT_DOUBLE_EQ(no_loop.share, 2.0 / 235);
}

TEST(Where, AModuleThatWasReplacedKeepsItsOffsets) {
    std::vector<record::Warning> warnings;
    const auto where = where_of(attribution({window(1, {{0x10008, slots(1, 0)}})}, true), warnings);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].id, "where_module_replaced");
    ASSERT_EQ(where.instructions.size(), 1u);
    EXPECT_EQ(where.instructions[0].module, "/gone/program");
    EXPECT_EQ(where.instructions[0].address, 0x3008u);
    EXPECT_EQ(where.instructions[0].function, "");
}

TEST(Where, BoundsAreThoseOfWindowsLeftOut) {
    std::vector<record::Warning> warnings;
    // Of no file: 100 of 100, 50 of 100, 0 of 100.
    const auto where = where_of(
        attribution({window(1, {{0x1000, slots(100, 0)}}), window(1, {{0x1000, slots(50, 0)}, {0x10000, slots(50, 0)}}),
                     window(1, {{0x10000, slots(100, 0)}})},
                    true),
        warnings);
    const auto& made = of_module(where, "");
    EXPECT_DOUBLE_EQ(made.share, 0.5);
    EXPECT_DOUBLE_EQ(made.low, 0.25);
    EXPECT_DOUBLE_EQ(made.high, 0.75);
}

TEST(Where, BoundsOfAKernelAreThoseOfItsWindows) {
    std::vector<record::Warning> warnings;
    const auto where = where_of(attribution({window(1, {{0x1000, slots(40, 0)}, {0x10000, slots(60, 0)}}),
                                             window(1, {{0x1000, slots(60, 0)}, {0x10000, slots(40, 0)}})},
                                            false),
                                warnings);
    EXPECT_DOUBLE_EQ(of_module(where, "").low, 0.4);
    EXPECT_DOUBLE_EQ(of_module(where, "").high, 0.6);
}

TEST(Where, WhatTheModelCannotKnowWidensTheBounds) {
    std::vector<record::Warning> warnings;
    auto first = window(1, {{0x1000, slots(50, 0)}, {0x10000, slots(50, 0)}});
    first.variations.push_back({record::Variation::no_prefetchers, {}, {}});
    first.variations[0].slots.add(0x1000, slots(50, 200));
    first.variations[0].slots.add(0x10000, slots(50, 0));
    const auto second = window(1, {{0x10000, slots(100, 0)}});  // is the same without prefetchers
    const auto where = where_of(attribution({first, second}, false), warnings);
    EXPECT_DOUBLE_EQ(of_module(where, "").share, 0.25);
    EXPECT_DOUBLE_EQ(of_module(where, "").low, 0);
    EXPECT_DOUBLE_EQ(of_module(where, "").high, 250.0 / 400);
}

// A call from code of no file into the program; without names each is where it begins.
TEST(Where, CallsHaveBoundsWithWhatTheyCall) {
    const auto calling = [](std::uint64_t outside, std::uint64_t inside) {
        auto one = window(1, {{0x1000, slots(outside, 0)}, {0x10008, slots(inside, 0)}});
        one.calls.calls = {{}, {0, 0, 0x1000}};
        one.calls.add(0, 0x1000, slots(outside, 0));
        one.calls.add(1, 0x10008, slots(inside, 0));
        return one;
    };
    auto second = calling(50, 50);
    second.variations.push_back({record::Variation::no_prefetchers, {}, {}});
    second.variations.back().slots.add(0x1000, slots(50, 0));
    second.variations.back().slots.add(0x10008, slots(50, 600));
    std::vector<record::Warning> warnings;
    const auto where = where_of(attribution({calling(90, 10), second}, true), warnings);
    const auto inside = std::ranges::find(where.calls, "/gone/program", &record::CallPlace::module);
    ASSERT_NE(inside, where.calls.end());
    EXPECT_DOUBLE_EQ(inside->share, 0.3);
    EXPECT_DOUBLE_EQ(inside->low, 0.1);
    EXPECT_DOUBLE_EQ(inside->high, 660.0 / 800);
    ASSERT_TRUE(inside->caller);
    EXPECT_DOUBLE_EQ(where.calls[*inside->caller].share, 1);
}

TEST(Where, MeasuredSharesStandBesideTheSlots) {
    auto of_windows = attribution({window(1, {{0x1000, slots(60, 0)}, {0x10008, slots(40, 0)}})}, true);
    auto& samples = of_windows.samples.emplace();
    samples.about.event = "task-clock";
    samples.about.taken = 100;
    samples.about.lost = 3;
    samples.weight_of_a_sample = 4;
    // 0x10010 has no slots, and nobody knows what 0x50000 is.
    samples.processes.push_back(
        {::getpid(), of_windows.mappings[0], {0x1000, 80, 0x10008, 200, 0x10010, 120, 0x50000, 100}});
    std::vector<record::Warning> warnings;
    const auto where = where_of(of_windows, warnings);
    ASSERT_TRUE(where.samples);
    EXPECT_EQ(where.samples->lost, 3u);
    EXPECT_EQ(where.samples->not_placed, 20u) << "of 100 that were taken: 100 of what all 500 weigh";
    const auto &made = of_module(where, ""), &gone = of_module(where, "/gone/program");
    ASSERT_TRUE(made.measured && gone.measured);
    EXPECT_DOUBLE_EQ(made.measured->share, 0.2);
    EXPECT_DOUBLE_EQ(gone.measured->share, 0.8);
    // What is as good as 100 equal samples: by hand, as Wilson's interval.
    EXPECT_NEAR(made.measured->low, 0.1334, 1e-4);
    EXPECT_NEAR(made.measured->high, 0.2888, 1e-4);
    ASSERT_EQ(where.instructions.size(), 3u);
    EXPECT_TRUE(where.instructions[2].slots.empty()) << "it is listed all the same";
    EXPECT_DOUBLE_EQ(where.instructions[2].measured->share, 0.3);
    for (const auto* places : {&where.modules, &where.functions, &where.loops, &where.lines, &where.instructions}) {
        double all = 0;
        for (const auto& place : *places) all += place.measured ? place.measured->share : 0;
        EXPECT_NEAR(all, 1, 1e-9);
    }
}

TEST(Where, WithoutSamplesNothingIsMeasured) {
    auto of_windows = attribution({window(1, {{0x1000, slots(60, 0)}})}, true);
    of_windows.samples.emplace().about.event = "task-clock";  // none was taken
    std::vector<record::Warning> warnings;
    const auto where = where_of(of_windows, warnings);
    EXPECT_FALSE(where.samples);
    EXPECT_FALSE(where.functions[0].measured);
}

/// `data` of an access by the instruction at 0x1000.
void access(counters::AttributedWindow& window, std::uint64_t data, std::uint64_t dram, std::uint64_t translation = 0,
            std::uint32_t allocation = 0) {
    counters::AccessSlots::Access access{0x1000, data, false, allocation, slots(0, dram)};
    access.slots[static_cast<std::size_t>(SlotCause::translation)] = translation;
    window.accesses.add(access);
}

TEST(Where, InstructionsHaveWhatTheirLoadsAndBranchesMet) {
    auto first = window(1, {{0x1000, slots(10, 90)}, {0x1010, slots(10, 0)}});
    auto second = window(3, {{0x1000, slots(10, 90)}});
    first.events.add(0x1000, {100, 50, 10, 400, 5});
    second.events.add(0x1000, {100, 100, 0, 500, 0});
    std::vector<record::Warning> warnings;
    const auto where = where_of(attribution({first, second}, true), warnings);
    ASSERT_EQ(where.instructions.size(), 2u);
    ASSERT_TRUE(where.instructions[0].counts);
    const record::InstructionCounts& counts = *where.instructions[0].counts;
    EXPECT_DOUBLE_EQ(counts.loads, 350.0 / 400);
    EXPECT_DOUBLE_EQ(counts.load_cycles, 1900.0 / 350);
    EXPECT_DOUBLE_EQ(counts.load_misses, 10.0 / 350);
    EXPECT_DOUBLE_EQ(counts.mispredictions, 5.0 / 400);
    EXPECT_FALSE(where.instructions[1].counts);
    EXPECT_FALSE(where.lines[0].counts);
}

TEST(Where, DataAreToldApartByWhatTheyLieIn) {
    auto first = window(2, {{0x1000, slots(10, 90)}});
    first.memory = {{{0x20000, 0x30000, 0, 0, "[heap]", false}, true, false, false},
                    {{0x40000, 0x50000, 0, 0, "", false}, true, false, false},
                    {{0x60000, 0x70000, 0, 9, "/gone/data", true}, true, false, false},
                    {{0x70000, 0x71000, 0, 0, "", false}, true, false, false},
                    {{0x90000, 0xa0000, 0, 0, "[stack]", false}, true, false, false}};
    access(first, 0x20010, 40);
    access(first, 0x40010, 20);
    access(first, 0x60010, 10);
    access(first, 0x70010, 10);  // right behind a file: what begins as zeros
    access(first, 0, 10);
    auto second = window(1, {{0x1000, slots(0, 60)}});
    second.memory = first.memory;
    second.memory[1].begin = 0x3f000;  // has grown
    access(second, 0x3f010, 50, 5);
    access(second, 0x90010, 5);
    std::vector<record::Warning> warnings;
    const auto where = where_of(attribution({first, second}, true), warnings);
    record::CauseSlots sum;
    for (const auto& place : where.data) {
        for (const auto& [cause, count] : place.slots) sum[cause] += count;
        EXPECT_LE(place.low, place.share);
        EXPECT_LE(place.share, place.high);
    }
    EXPECT_EQ(sum, where.data_slots);
    EXPECT_EQ(sum, (record::CauseSlots{{"dram", 235}, {"translation", 5}}));
    ASSERT_EQ(where.data.size(), 5u);
    EXPECT_EQ(where.data[0].kind, record::DataKind::anonymous);
    EXPECT_EQ(where.data[0].address, 0x3f000u);
    EXPECT_EQ(where.data[0].bytes, 0x11000u);
    EXPECT_DOUBLE_EQ(where.data[0].share, 95.0 / 260);
    EXPECT_DOUBLE_EQ(where.data[0].small_page_walks, 5.0 / 260);
    EXPECT_EQ(where.data[1].kind, record::DataKind::heap);
    EXPECT_EQ(where.data[2].kind, record::DataKind::file);
    EXPECT_EQ(where.data[2].path, "/gone/data");
    EXPECT_DOUBLE_EQ(where.data[2].share, 40.0 / 260);
    EXPECT_EQ(where.data[3].kind, record::DataKind::unknown);
    EXPECT_EQ(where.data[4].kind, record::DataKind::stack);
}

TEST(Where, OfAMillionInstructionsTheMostAreListedAndTheRestIsNotLost) {
    counters::AttributedWindow large;
    large.process = ::getpid();
    constexpr std::uint64_t instructions = 1000000, most_listed = 20000, begin = 0x100000;
    for (std::uint64_t i = 0; i < instructions; ++i) large.slots.add(begin + 4 * i, slots(1 + i % 7, i % 3));
    auto all = attribution({large}, true);
    all.mappings[0].push_back({begin, begin + 4 * instructions, 0, 0, "", false});
    std::vector<record::Warning> warnings;
    const auto where = where_of(all, warnings);
    EXPECT_EQ(where.instructions.size(), most_listed);
    record::CauseSlots sum = where.further_instructions;
    for (const auto& one : where.instructions)
        for (const auto& [cause, count] : one.slots) sum[cause] += count;
    EXPECT_EQ(sum, where.slots);
    EXPECT_GE(where.instructions.front().share, where.instructions.back().share);
}

TEST(Where, BlocksAreToldApartByTheCallsThatAllocatedThem) {
    auto first = window(2, {{0x1000, slots(10, 90)}});
    first.memory = {{{0x20000, 0x30000, 0, 0, "[heap]", false}, true, false, false}};
    access(first, 0x20010, 30, 0, 3);
    access(first, 0x20020, 20, 0, 4);  // the same, called from within itself
    access(first, 0x20030, 25, 0, 5);
    access(first, 0x20040, 15);
    first.blocks = {{3, 2, 64}, {4, 1, 32}, {5, 10, 320}};
    auto second = window(1, {{0x1000, slots(0, 60)}});
    second.memory = first.memory;
    access(second, 0x20010, 60, 0, 3);
    second.blocks = {{3, 4, 128}};
    auto all = attribution({first, second}, true);
    // Code of no file has functions by address alone: those of this map.
    const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    std::ofstream(path) << "1000 100 main\n1200 100 parse\n1400 100 make\n1600 100 other\n";
    all.allocating_calls = {{0, 0}, {0, 0x1010}, {1, 0x1210}, {2, 0x1410}, {3, 0x1220}, {1, 0x1610}};
    std::vector<record::Warning> warnings;
    const auto where = where_of(all, warnings);
    std::remove(path.c_str());
    EXPECT_TRUE(where.blocks_told_apart);
    ASSERT_EQ(where.data.size(), 4u);
    record::CauseSlots sum;
    for (const auto& place : where.data)
        for (const auto& [cause, count] : place.slots) sum[cause] += count;
    EXPECT_EQ(sum, where.data_slots);
    const auto names = [](const record::DataPlace& place) {
        std::string text;
        for (const auto& one : place.allocated_by) text += one.function + " ";
        return text;
    };
    EXPECT_EQ(names(where.data[0]), "make parse main ");
    EXPECT_EQ(where.data[0].kind, record::DataKind::blocks);
    EXPECT_DOUBLE_EQ(where.data[0].share, 120.0 / 260);
    EXPECT_EQ(where.data[0].bytes, 128u);
    EXPECT_EQ(where.data[0].blocks, 4u);
    EXPECT_EQ(names(where.data[1]), "other main ");
    EXPECT_EQ(where.data[1].blocks, 10u);
    EXPECT_EQ(names(where.data[2]), "parse main ");
    EXPECT_EQ(where.data[3].kind, record::DataKind::heap);
}

TEST(Where, CodeThatWasMadeWhileItRanIsNamedByItsMap) {
    const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    std::ofstream(path) << "1000 100 made by a compiler\n";
    std::vector<record::Warning> warnings;
    const auto where =
        where_of(attribution({window(1, {{0x1004, slots(1, 0)}, {0x1008, slots(2, 0)}, {0x1800, slots(1, 0)}})}, true),
                 warnings);
    std::remove(path.c_str());
    ASSERT_EQ(where.functions.size(), 2u);
    EXPECT_EQ(where.functions[0].function, "made by a compiler");
    EXPECT_EQ(where.functions[0].address, 0x1000u);
    EXPECT_DOUBLE_EQ(where.functions[0].share, 0.75);
    EXPECT_EQ(where.functions[1].function, "");
    EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace tmaprobe::experiments
