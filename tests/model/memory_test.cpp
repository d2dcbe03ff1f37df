#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/sizes.h"
#include "model/memory_system.h"
#include "trace/page_map.h"

namespace tmaprobe::model {
namespace {

constexpr std::uint64_t small = 4 * kib, large = 2 * mib;

CacheGeometry cache(int level, events::Holds kind, std::uint64_t size_bytes, unsigned ways, unsigned latency) {
    CacheGeometry geometry;
    geometry.level = level;
    geometry.kind = kind;
    geometry.size_bytes = size_bytes;
    geometry.ways = ways;
    geometry.latency = latency;
    return geometry;
}

ModelledCpu plain() {
    ModelledCpu geometry;
    geometry.l1_data = cache(1, events::Holds::data, 32 * kib, 8, 4);
    geometry.l1_code = cache(1, events::Holds::instruction, 32 * kib, 8, 0);
    geometry.l2 = cache(2, events::Holds::unified, 512 * kib, 8, 12);
    geometry.l3 = cache(3, events::Holds::unified, 16 * mib, 16, 40);
    geometry.tlbs = {{1, events::Holds::data, {small, large}, 64, -1},
                     {2, events::Holds::unified, {small, large}, 2048, 8}};
    geometry.prefetchers.streams = 0;
    geometry.frequency_hz = 1e9;  // a cycle is a nanosecond
    geometry.memory = {100, 80, 120, 64e9, 10, 20};
    return geometry;
}

PageSizes all(std::uint64_t bytes) {
    return [bytes](std::uint64_t) { return bytes; };
}

trace::StaticInstruction a_load() {
    trace::StaticInstruction instruction;
    instruction.loads = true;
    return instruction;
}

/// Mean extra latency of dependent loads at random lines of a block, in steady state.
double chase(const ModelledCpu& geometry, std::uint64_t bytes, std::uint64_t page,
             const MemoryVariation& variation = {}) {
    MemorySystem memory(geometry, all(page), {});
    std::mt19937_64 random(7);
    const std::uint64_t lines = bytes / 64;
    const auto address = [&] { return (std::uint64_t{1} << 40) + random() % lines * 64; };
    for (std::uint64_t line = 0; line < std::min<std::uint64_t>(lines, 300000); ++line)
        memory.warm(a_load(), {0, (std::uint64_t{1} << 40) + line * 64, 0});
    for (std::uint64_t i = 0; i < 3 * std::min<std::uint64_t>(lines, 250000); ++i)
        memory.warm(a_load(), {0, address(), 0});
    memory.vary(variation);
    memory.begin_window();
    double sum = 0;
    std::uint64_t cycle = 0;
    constexpr int loads = 5000;
    for (int i = 0; i < loads; ++i) {
        const unsigned extra = memory.load(address(), 0, cycle).extra;
        sum += extra;
        cycle += extra + 4;
    }
    return sum / loads;
}

TEST(MemorySystem, AnswersWithTheLatencyOfTheLevelThatHoldsTheBlock) {
    EXPECT_NEAR(chase(plain(), 16 * kib, large), 0, 0.2);
    EXPECT_NEAR(chase(plain(), 256 * kib, large), 12 - 4, 1.5);
    EXPECT_NEAR(chase(plain(), 4 * mib, large), 40 - 4, 6);
    EXPECT_NEAR(chase(plain(), 512 * mib, large), 140 - 4, 12);
}

TEST(MemorySystem, SmallPagesCostWalksBeyondTheReachOfTheTranslationBuffer) {
    // 2048 entries of 4 KiB reach 8 MiB.
    const double within = chase(plain(), 6 * mib, small) - chase(plain(), 6 * mib, large);
    const double beyond = chase(plain(), 14 * mib, small) - chase(plain(), 14 * mib, large);
    EXPECT_LT(within, 12);
    EXPECT_GT(beyond, within + 4);
}

TEST(MemorySystem, ALargePageThatTheHostSplitsHasEntriesOfSmallOnesAndShorterWalks) {
    ModelledCpu split = plain();
    const double whole = chase(split, 14 * mib, large), in_small = chase(split, 14 * mib, small);
    split.translation.large_page_walk = 1;
    EXPECT_NEAR(chase(split, 14 * mib, large), in_small, 0.02 * in_small);
    EXPECT_EQ(chase(split, 14 * mib, small), in_small);
    split.translation.large_page_walk = 0.5;
    const double between = chase(split, 14 * mib, large);
    EXPECT_GT(between, whole + 1);
    EXPECT_LT(between, in_small - 1);
}

TEST(MemorySystem, ATranslationOnItsWayIsWaitedForAndNotAskedForAgain) {
    MemorySystem memory(plain(), all(small), {});
    memory.begin_window();
    constexpr std::uint64_t page = std::uint64_t{1} << 40;
    const core::Loaded first = memory.load(page, 0, 1000);
    EXPECT_TRUE(first.asks_for_translation);
    const core::Loaded beside = memory.load(page + 64, 0, 1010);
    EXPECT_FALSE(beside.asks_for_translation);
    EXPECT_EQ(beside.translation, first.translation - 10);
    // Younger, and issued before: it would have asked itself.
    EXPECT_EQ(memory.load(page + 128, 0, 990).translation, first.translation);
    EXPECT_EQ(memory.load(page + 192, 0, 1000 + first.translation).translation, 0u);
}

TEST(MemorySystem, TheSecondLevelOfTranslationsAnswersOneAtATime) {
    constexpr std::uint64_t first = std::uint64_t{1} << 40, many = 128;  // pages: twice what the first level holds
    for (const double every : {0, 1, 3}) {
        ModelledCpu geometry = plain();
        geometry.translation.l2_hit_every = every;
        MemorySystem memory(geometry, all(small), {});
        for (std::uint64_t page = 0; page < many; ++page) memory.warm(a_load(), {0, first + page * small, 0});
        memory.begin_window();
        std::vector<unsigned> waited;
        for (std::uint64_t page = 0; page < 20; ++page)
            waited.push_back(memory.load(first + page * small, 0, 999).translation);
        EXPECT_NEAR(waited[0], geometry.translation.l2_hit_cycles, every);
        EXPECT_NEAR(waited[19] - waited[0], 19 * every, 1) << every;
    }
}

TEST(MemorySystem, OutstandingMissesAreLimited) {
    ModelledCpu geometry = plain();
    geometry.memory.outstanding_l1_misses = 4;
    MemorySystem memory(geometry, all(large), {});
    memory.begin_window();
    memory.load(0x1000000, 0, 0);  // translation
    std::vector<unsigned> extra;
    for (std::uint64_t i = 1; i <= 9; ++i) extra.push_back(memory.load(0x1000000 + i * 64 * 1024, 0, 1000).extra);
    EXPECT_LT(extra[3], 200u);
    EXPECT_GT(extra[4], extra[3] + 100);  // had to wait for one of the first four
    EXPECT_GT(extra[8], extra[4] + 100);
}

TEST(MemorySystem, SaysWhoSendsALineThatIsOnItsWayToo) {
    MemorySystem memory(plain(), all(large), {});
    memory.begin_window();
    constexpr std::uint64_t address = std::uint64_t{1} << 40;
    memory.load(address + 640, 0, 0);  // the translation
    const core::Loaded first = memory.load(address, 0, 1000);
    EXPECT_EQ(first.sent_by, 4);
    const core::Loaded beside = memory.load(address + 8, 0, 1001);
    EXPECT_EQ(beside.waits, core::SlotCause::line_on_its_way);
    EXPECT_EQ(beside.sent_by, 4);
    EXPECT_EQ(memory.load(address, 0, 1001 + first.extra + 10).sent_by, 1);
}

TEST(MemorySystem, LinesFollowOneAnotherAtTheBandwidth) {
    ModelledCpu geometry = plain();
    geometry.memory.outstanding_l1_misses = geometry.memory.outstanding_l2_misses = 1000;
    geometry.memory.bandwidth_bytes_per_second = 6.4e9;  // ten cycles a line
    MemorySystem memory(geometry, all(large), {});
    memory.begin_window();
    memory.load(0x40000000, 0, 0);  // the translation
    unsigned last = 0;
    for (std::uint64_t i = 1; i <= 101; ++i) last = memory.load(0x40000000 + i * 64, 0, 10000).extra;
    EXPECT_NEAR(last, 136 + 1000, 20);
}

/// Cycles from one line to the next of a block that is walked through twice, asked for a little faster than they come;
/// the second time counts.
double cycles_a_line(const ModelledCpu& geometry, std::uint64_t bytes, bool stores, double asked_each) {
    MemorySystem memory(geometry, all(large), {});
    constexpr std::uint64_t start = std::uint64_t{1} << 40;
    trace::StaticInstruction instruction;
    (stores ? instruction.stores : instruction.loads) = true;
    for (std::uint64_t at = 0; at < bytes; at += 64)
        memory.warm(instruction, {0, stores ? 0 : start + at, stores ? start + at : 0});
    memory.begin_window();
    const double lines = static_cast<double>(bytes) / 64;
    std::uint64_t last = 0;
    for (double line = 0; line < lines; ++line) {
        const auto cycle = static_cast<std::uint64_t>(line * asked_each);
        const std::uint64_t address = start + static_cast<std::uint64_t>(line) * 64;
        memory.advance(cycle);
        last = stores ? memory.store(address, 0, cycle) : cycle + memory.load(address, 0, cycle).extra;
    }
    return static_cast<double>(last) / lines;
}

TEST(MemorySystem, EachLevelSendsLinesAtItsOwnRate) {
    ModelledCpu geometry = plain();
    geometry.memory.outstanding_l1_misses = geometry.memory.outstanding_l2_misses = 0;  // any number
    geometry.l2.line_cycles = geometry.l2.write_back_cycles = 2;
    geometry.l3.line_cycles = 6.5;
    EXPECT_NEAR(cycles_a_line(geometry, 192 * kib, false, 1), 2, 0.05);
    EXPECT_NEAR(cycles_a_line(geometry, 192 * kib, true, 3), 4, 0.1) << "what was written goes back the same way";
    EXPECT_NEAR(cycles_a_line(geometry, 1 * mib, false, 5.5), 6.5, 0.1);
    geometry.l2.line_cycles = geometry.l3.line_cycles = 0;
    EXPECT_NEAR(cycles_a_line(geometry, 192 * kib, false, 1), 1, 0.1) << "no rate is known";
}

TEST(MemorySystem, ALoadOfTwoLinesTakesTheWayFromTheSecondLevelOnceMore) {
    ModelledCpu geometry = plain();
    geometry.memory.outstanding_l1_misses = geometry.memory.outstanding_l2_misses = 0;  // any number
    geometry.l2.line_cycles = geometry.l2.split_load_cycles = 2;
    for (const auto& [block, both, expected] :
         {std::tuple{192 * kib, false, 2}, {192 * kib, true, 4}, {1 * kib, true, 1}}) {
        MemorySystem memory(geometry, all(large), {0, false});
        trace::StaticInstruction instruction;
        instruction.loads = true;
        for (std::uint64_t at = 64; at <= block + 64; at += 64) memory.warm(instruction, {0, at, 0});
        memory.begin_window();
        std::uint64_t last = 0;
        for (std::uint64_t i = 0; i < 300; ++i) {
            const std::uint64_t address = 64 + i * 64 % block;
            const unsigned first = memory.load(address, 0, i).extra;
            last = i + std::max(first, both ? memory.load_rest(address + 64, first > 0, i) : 0);
        }
        EXPECT_NEAR(static_cast<double>(last) / 300, expected, 0.1) << block;
    }
}

TEST(MemorySystem, LinesOfOneBankOfTheSecondLevelFollowOneAnotherMoreSlowly) {
    ModelledCpu geometry = plain();
    geometry.memory.outstanding_l1_misses = geometry.memory.outstanding_l2_misses = 0;  // any number
    geometry.l2.banks = 4;
    geometry.l2.bank_cycles = 3;
    // Asked for a little faster than they come. Of what the third level sends, each line takes three turns, or one.
    for (const auto& [lines, stride, asked_each, turns, expected] : {std::tuple{1024, 64, 0.9, 3u, 1.0},
                                                                     {1024, 256, 2.5, 3u, 3.0},
                                                                     {16384, 256, 8.5, 3u, 9.0},
                                                                     {16384, 64, 2.0, 3u, 2.25},
                                                                     {16384, 256, 5.5, 2u, 6.0},
                                                                     {16384, 256, 2.5, 1u, 3.0}}) {
        geometry.l2.bank_fill_turns = turns;
        MemorySystem memory(geometry, all(large), {0, false});
        const auto address = [step = stride](int i) {
            return (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step);
        };
        for (int i = 0; i < lines; ++i) memory.warm(a_load(), {0, address(i), 0});
        memory.begin_window();
        std::uint64_t last = 0;
        for (int i = 0; i < lines; ++i) {
            const auto cycle = static_cast<std::uint64_t>(i * asked_each);
            memory.advance(cycle);
            last = cycle + memory.load(address(i), 0, cycle).extra;
        }
        EXPECT_NEAR(static_cast<double>(last) / lines, expected, 0.1)
            << lines << " lines, " << stride << " bytes apart";
    }
}

TEST(MemorySystem, LinesOfTheThirdLevelComeFromSlicesNearAndFar) {
    ModelledCpu geometry = plain();
    geometry.l3.slices = 8;
    geometry.l3.slice_spread_cycles = 28;
    MemorySystem memory(geometry, all(large), {0, false});
    const auto address = [](std::uint64_t i) { return (std::uint64_t{1} << 40) + i * 64; };
    constexpr std::uint64_t lines = 16384;
    for (std::uint64_t i = 0; i < lines; ++i) memory.warm(a_load(), {0, address(i), 0});
    memory.begin_window();
    std::map<unsigned, unsigned> seen;
    for (std::uint64_t i = 0; i < lines; ++i) {
        memory.advance(1000 * i);
        ++seen[memory.load(address(i), 0, 1000 * i).extra + geometry.l1_data.latency];
    }
    ASSERT_EQ(seen.size(), 8u);
    EXPECT_EQ(seen.begin()->first, geometry.l3.latency - 14);
    EXPECT_EQ(seen.rbegin()->first, geometry.l3.latency + 14);
    for (const auto& [cycles, times] : seen) EXPECT_NEAR(times, lines / 8, lines / 80) << cycles;
}

TEST(MemorySystem, PrefetchersRunAheadOfAStream) {
    ModelledCpu geometry = plain();
    geometry.prefetchers = {true, 8, 12};
    double with = 0, without = 0;
    for (const bool prefetch : {true, false}) {
        MemorySystem memory(geometry, all(large), {0, prefetch});
        memory.begin_window();
        std::uint64_t cycle = 0;
        for (std::uint64_t line = 0; line < 5000; ++line) {
            const unsigned extra = memory.load(0x40000000 + line * 64, 0, cycle).extra;
            (prefetch ? with : without) += extra;
            cycle += extra + 20;
        }
    }
    EXPECT_LT(with, without / 3);
}

TEST(MemorySystem, TheFirstLinesAheadGoToTheFirstLevel) {
    constexpr std::uint64_t first = 0x40000000, lines = 4096, last = 10;
    for (const auto& [given, ahead] : {std::pair{0u, 3u}, {1u, 1u}, {5u, 5u}}) {  // 0: a fourth of twelve
        ModelledCpu geometry = plain();
        geometry.prefetchers = {true, 8, 12, false, given};
        MemorySystem memory(geometry, all(large), {});
        for (std::uint64_t line = 0; line < lines; ++line) memory.warm(a_load(), {0, first + line * 64, 0});
        memory.begin_window();
        for (std::uint64_t line = 0; line <= last; ++line) memory.load(first + line * 64, 0, 1000 * line);
        const auto extra = [&](std::uint64_t line) { return memory.load(first + line * 64, 0, 1000 * lines).extra; };
        EXPECT_EQ(extra(last + ahead + 1), geometry.l2.latency - geometry.l1_data.latency) << given;
        EXPECT_EQ(extra(last + ahead), 0u) << given;
    }
}

TEST(MemorySystem, LinesAroundOneThatMissesComeWithItWhereTheyDidBefore) {
    constexpr std::uint64_t first = 0x40000000, blocks = 200, bytes_of_block = 1024;
    for (const unsigned lines : {0u, 4u}) {
        ModelledCpu geometry = plain();
        geometry.prefetchers = {true, 8, 12, false, 0, 0, lines, lines, 10};
        MemorySystem memory(geometry, all(large), {});
        memory.begin_window();
        std::uint64_t cycle = 0;
        unsigned extra = 0;
        for (std::uint64_t block = 0; block < blocks; ++block) {
            // In an order that is no stream: the first line, and the one before it long after.
            const std::uint64_t at = first + block * 77 % blocks * bytes_of_block + bytes_of_block / 2;
            memory.load(at, 1, cycle);
            extra = memory.load(at - 64, 2, cycle + 5000).extra;
            cycle += 10000;
        }
        EXPECT_EQ(extra == 0, lines > 0) << extra;
    }
}

TEST(MemorySystem, AStreamGoesOnIntoTheNextPageWhereTheCpuDoesThat) {
    for (const bool cross : {false, true}) {
        ModelledCpu geometry = plain();
        geometry.prefetchers = {true, 8, 12, cross};
        MemorySystem memory(geometry, all(small), {});
        memory.begin_window();
        unsigned longest_at_a_page = 0;
        std::uint64_t cycle = 0;
        for (std::uint64_t line = 0; line < 5000; ++line) {
            const unsigned extra = memory.load(0x40000000 + line * 64, 0, cycle).extra;
            if (line > 64 && line % 64 < 4) longest_at_a_page = std::max(longest_at_a_page, extra);
            cycle += extra + 40;
        }
        // The page's walk goes to memory, and so do its first lines, unless both were asked for in time.
        EXPECT_EQ(longest_at_a_page == 0, cross) << longest_at_a_page;
        EXPECT_EQ(memory.facts().at("load_walks"), 5000 / 64 + 1) << "the same pages are translated";
    }
}

/// The pages whose first lines a stream from memory waits for, of `pages`, when of each `every` of its lines one is
/// loaded that the second level has; 0: of none.
unsigned pages_waited_for(double held_lines_to_stay, std::uint64_t every) {
    constexpr std::uint64_t pages = 80, lines_of_a_page = 64, held_lines = 512, held = 0x1000000, stream = 0x40000000;
    ModelledCpu geometry = plain();
    geometry.l1_data.size_bytes = held_lines * 64 / 4;
    geometry.prefetchers = {true, 8, 12, true, 0, held_lines_to_stay};
    MemorySystem memory(geometry, all(small), {});
    for (std::uint64_t line = 0; line < 2 * held_lines; ++line)
        memory.warm(a_load(), {0, held + line % held_lines * 64, 0});
    memory.begin_window();
    unsigned waited = 0;
    std::uint64_t cycle = 0;
    for (std::uint64_t line = 0; line < pages * lines_of_a_page; ++line) {
        if (every && line % every == 0) memory.load(held + line / every % held_lines * 64, 0, cycle);
        const unsigned extra = memory.load(stream + line * 64, 0, cycle).extra;
        if (line % lines_of_a_page == 0 && extra > 100) ++waited;
        cycle += extra + 60;
    }
    return waited;
}

TEST(MemorySystem, AStreamStaysInItsPageBesideLinesThatTheSecondLevelHas) {
    constexpr unsigned first = 1, all_pages = 80;
    EXPECT_EQ(pages_waited_for(0, 1), first);
    EXPECT_EQ(pages_waited_for(1, 0), first);
    EXPECT_GE(pages_waited_for(1, 1), all_pages - 2);
    EXPECT_NEAR(pages_waited_for(1, 2), all_pages / 2, 3);
    EXPECT_NEAR(pages_waited_for(1, 4), all_pages / 4, 3);
    EXPECT_NEAR(pages_waited_for(0.5, 4), all_pages / 2, 3);
}

TEST(MemorySystem, AStoreIsDoneWhenItsLineIsThere) {
    MemorySystem memory(plain(), all(large), {});
    memory.begin_window();
    EXPECT_GT(memory.store(0x5000000, 0, 1000), 1100u);
    EXPECT_EQ(memory.store(0x5000000, 0, 5000), 5000u);
}

TEST(SetAssociative, ForgetsTheLeastRecentlyUsed) {
    SetAssociative cache(4, 2);  // two sets
    EXPECT_FALSE(cache.insert(0));
    EXPECT_FALSE(cache.insert(2));
    EXPECT_TRUE(cache.find(0));
    EXPECT_EQ(cache.insert(4), 2u);
    EXPECT_TRUE(cache.find(0));
    EXPECT_FALSE(cache.find(2));
    EXPECT_TRUE(cache.find(4));
}

TEST(SetAssociative, APlaceThatWasFreedIsTakenFirst) {
    for (const std::size_t among : {std::size_t{1}, std::size_t{3}, SetAssociative::any}) {
        SetAssociative cache(4, 4, among);
        for (const std::uint64_t key : {1, 2, 3, 4}) EXPECT_FALSE(cache.insert(key));
        cache.erase(2);
        EXPECT_FALSE(cache.insert(5));
        EXPECT_TRUE(cache.insert(6));
        EXPECT_FALSE(cache.find(2));
    }
}

TEST(SetAssociative, RandomReplacementKeepsPartOfABlockThatIsALittleTooLarge) {
    constexpr std::uint64_t entries = 1024, block = 1280;
    const auto hits = [](SetAssociative cache) {
        int found = 0;
        for (int round = 0; round < 20; ++round)
            for (std::uint64_t key = 0; key < block; ++key) {
                if (cache.find(key))
                    ++found;
                else
                    cache.insert(key);
            }
        return found / (20.0 * block);
    };
    EXPECT_EQ(hits(SetAssociative(entries, 16)), 0);
    EXPECT_GT(hits(SetAssociative(entries, 16, SetAssociative::any)), 0.4);
    EXPECT_GT(hits(SetAssociative(entries, 16, 12)), 0.3);
}

TEST(SetAssociative, OfThoseUsedLongestAgoOneMakesRoomByChance) {
    constexpr std::size_t ways = 8, among = 6;
    SetAssociative cache(ways, ways, among);
    std::uint64_t key = 0;
    for (; key < ways; ++key) cache.insert(key);
    std::set<std::uint64_t> ages;
    for (; key < 500; ++key) {
        cache.find(key - 1);
        const auto out = cache.insert(key);
        ASSERT_TRUE(out);
        EXPECT_LT(*out, key - (ways - among)) << "one of the last two made room";
        ages.insert(key - *out);
    }
    EXPECT_GT(ages.size(), among);
}

TEST(MemorySystem, AVictimCacheAddsToTheLevelAbove) {
    ModelledCpu geometry = plain();
    geometry.l3 = cache(3, events::Holds::unified, 1 * mib, 16, 40);
    const double inclusive = chase(geometry, 1400 * kib, large);
    geometry.l3.victim = true;
    EXPECT_LT(chase(geometry, 1400 * kib, large), inclusive - 10);
}

TEST(MemorySystem, AnEstimatedThirdLevelIsVariedWithMemory) {
    for (const bool estimated : {false, true}) {
        ModelledCpu geometry = plain();
        geometry.l3.latency_estimated = estimated;
        MemorySystem memory(geometry, all(large), {});
        for (std::uint64_t line = 0; line < 16384; ++line) memory.warm(a_load(), {0, 0x40000000 + line * 64, 0});
        memory.vary({geometry.memory.latency_ns * 1.5, true});
        memory.begin_window();
        memory.load(0x40000000 + 16000 * 64, 0, 0);
        EXPECT_EQ(memory.load(0x40000000, 0, 10000).extra, (estimated ? 60u : 40u) - 4);
    }
}

TEST(MemorySystem, WhereOthersHaveTheThirdLevelItsLinesComeFromMemory) {
    const MemoryVariation taken{0, true, Unknown::likely, false};
    EXPECT_NEAR(chase(plain(), 16 * kib, large, taken), 0, 0.2);
    EXPECT_NEAR(chase(plain(), 256 * kib, large, taken), chase(plain(), 256 * kib, large), 1e-9);
    EXPECT_GT(chase(plain(), 4 * mib, large, taken), chase(plain(), 4 * mib, large) + 80);
}

/// Cycles beyond the first level's of a load from a block that was met twice in any order, so long an instruction.
double load_beside_others(std::uint64_t bytes, double cycles_an_instruction) {
    ModelledCpu geometry = plain();
    geometry.l3 = cache(3, events::Holds::unified, 8 * mib, 16, 40);
    geometry.l3.makes_room_among = 1;
    geometry.l3.victim = true;
    geometry.l3.others_fill_ns = 1e6;
    MemorySystem memory(geometry, all(large), {0, false});
    const std::uint64_t lines = bytes / 64;
    const auto line_at = [&](std::uint64_t i) { return 0x40000000 + i * 40507 % lines * 64; };
    for (std::uint64_t i = 0; i < 2 * lines; ++i) memory.warm(a_load(), {0, line_at(i), 0});
    memory.share_l3(cycles_an_instruction);
    memory.begin_window();
    double sum = 0;
    constexpr std::uint64_t loads = 2000;
    for (std::uint64_t i = 0; i < loads; ++i) sum += memory.load(line_at(i), 0, i * 10000).extra;
    return sum / loads;
}

TEST(MemorySystem, WhoComesBackSeldomKeepsLessBesideOthers) {
    // 8 MiB are 131,072 lines. Of 49,152, one each 10 ns, the last use is 0.5 ms ago: they count as
    // 73,000. One each 1,000 ns, 49 ms: as 2.5 million.
    EXPECT_LT(load_beside_others(3 * mib, 5), 60);
    EXPECT_GT(load_beside_others(3 * mib, 500), 120);
    EXPECT_LT(load_beside_others(256 * kib, 500), 20) << "nobody else fills the second level";
}

TEST(MemorySystem, HalfOfWhatAloneWouldBeHeldMayLieIdleForTheTimeOfOthers) {
    ModelledCpu geometry = plain();
    geometry.l3 = cache(3, events::Holds::unified, 8 * mib, 16, 40);
    geometry.l3.makes_room_among = 1;
    MemorySystem alone(geometry, all(large), {0, false});
    geometry.l3.others_fill_ns = 2e6;
    MemorySystem beside(geometry, all(large), {0, false});
    constexpr std::uint64_t half = 8 * mib / 64 / 2;
    for (MemorySystem* memory : {&alone, &beside}) {
        EXPECT_EQ(memory->part_of_l3(1), 1) << "nothing was met";
        for (std::uint64_t line = 0; line < half; ++line) memory->warm(a_load(), {0, 0x40000000 + line * 64, 0});
    }
    const double cycles = 2e6 * geometry.frequency_hz * 1e-9 / half;
    EXPECT_NEAR(beside.part_of_l3(cycles), 0.5, 0.01);
    EXPECT_EQ(alone.part_of_l3(cycles), 1);
}

TEST(MemorySystem, WalksBeyondTheNumberOfWalkersWait) {
    ModelledCpu geometry = plain();
    geometry.translation.walkers = 2;
    MemorySystem memory(geometry, all(small), {});
    memory.begin_window();
    std::vector<unsigned> extra;
    // Far apart: each needs a walk of its own, all at once.
    for (std::uint64_t i = 1; i <= 3; ++i) extra.push_back(memory.load((i << 32) + i * 64, 0, 1000).extra);
    EXPECT_GT(extra[2], extra[0] + 80);
}

TEST(PageMap, ReadsWhatTheKernelSaysOfEachMapping) {
    const trace::PageMap map = trace::PageMap::parse(
        "7f0000000000-7f0000800000 rw-p 00000000 00:00 0\nSize: 8192 kB\nKernelPageSize:        4 kB\nAnonHugePages:   "
        "   8192 kB\n"
        "7f1000000000-7f1040000000 rw-s 00000000 00:0f 12 /anon_hugepage (deleted)\nKernelPageSize:     2048 "
        "kB\nAnonHugePages:         0 kB\n"
        "7f2000000000-7f2000001000 r-xp 00000000 08:01 99 /bin/x\nKernelPageSize:        4 kB\nAnonHugePages:         "
        "0 kB\n");
    EXPECT_EQ(map.page_bytes(0x7f0000000000), large);
    EXPECT_EQ(map.page_bytes(0x7f00007fffff), large);
    EXPECT_EQ(map.page_bytes(0x7f0000800000), small);
    EXPECT_EQ(map.page_bytes(0x7f1000000000), large);
    EXPECT_EQ(map.page_bytes(0x7f2000000000), small);
    EXPECT_EQ(map.page_bytes(0x1000), small);
    EXPECT_FALSE(map.partly_known());
}

TEST(PageMap, SaysWhenHugePagesCoverAPart) {
    const trace::PageMap map = trace::PageMap::parse(
        "7f0000000000-7f0000800000 rw-p 00000000 00:00 0\nKernelPageSize:        4 kB\nAnonHugePages:      4096 kB\n");
    EXPECT_TRUE(map.partly_known());
    int huge = 0;
    for (std::uint64_t extent = 0; extent < 4; ++extent)
        huge += map.page_bytes(0x7f0000000000 + extent * large) == large;
    EXPECT_EQ(huge, 2);
}

TEST(MemorySystem, WhatIsTouchedForTheFirstTimeWasClearedJustNow) {
    constexpr std::uint64_t first = std::uint64_t{1} << 40, untouched = first + small;
    MemorySystem memory(plain(), all(small), {});
    memory.assume_met(64 * mib);
    memory.vary({0, true, Unknown::missed_more});
    memory.ask_untouched([](std::uint64_t address) { return address / small == untouched / small; });
    memory.begin_window();
    const auto load = [&](std::uint64_t address, std::uint64_t cycle) {
        memory.advance(cycle);
        return memory.load(address, 0, cycle);
    };
    load(untouched, 0);
    for (std::uint64_t line = 1; line < 64; ++line) EXPECT_EQ(load(untouched + line * 64, line * 1000).extra, 0U);
    EXPECT_EQ(memory.facts()["loads_l1_hit"], 64);
    EXPECT_EQ(memory.facts()["load_walks"], 1) << "the translation was not there";
    for (std::uint64_t line = 0; line < 64; ++line) load(first + line * 64, 100'000 + line * 1000);
    EXPECT_LT(memory.facts()["loads_l1_hit"], 80) << "what was touched before";
    // Once is once, whatever is evicted since.
    for (std::uint64_t line = 0; line < 4096; ++line) load(first + 64 * small + line * 64, 200'000 + line * 1000);
    EXPECT_GT(load(untouched, 5'000'000).extra, 0U);
}

TEST(MemorySystem, WhatWasNeverMetMayBeHeldInAProgramThatRanBefore) {
    constexpr std::uint64_t first = std::uint64_t{1} << 40;
    const auto extra = [&](std::uint64_t resident, Unknown unknown) {
        MemorySystem memory(plain(), all(small), {});
        memory.assume_met(resident);
        memory.vary({0, true, unknown});
        memory.begin_window();
        double sum = 0;
        for (std::uint64_t page = 0; page < 64; ++page) {
            memory.advance(page * 1000);
            sum += memory.load(first + page * small, 0, page * 1000).extra;
        }
        return sum / 64;
    };
    const double cold = extra(0, Unknown::likely);
    EXPECT_GT(cold, 100) << "a program that has just begun";
    const double likely = extra(64 * mib, Unknown::likely);
    EXPECT_LT(likely, cold);
    EXPECT_GT(extra(64 * mib, Unknown::missed_more), likely);
    EXPECT_LE(extra(64 * mib, Unknown::missed_more), cold);
    EXPECT_LT(extra(64 * mib, Unknown::held_more), likely);
    EXPECT_LT(extra(256 * kib, Unknown::likely), 20) << "all of it fits into the second level";
    EXPECT_LT(extra(256 * kib, Unknown::missed_more), 20) << "what is certain stays so";
    const double between = extra(4 * mib, Unknown::likely);
    EXPECT_GT(between, 25) << "mostly in the third level";
    EXPECT_LT(between, 60);
}

}  // namespace
}  // namespace tmaprobe::model
