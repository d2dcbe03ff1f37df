#include "trace/heap_blocks.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace tmaprobe::trace {
namespace {

TEST(HeapBlocks, KnowWhoseBlockAnAddressIsIn) {
    HeapBlocks blocks;
    blocks.add(0x10000, 24, 1);
    blocks.add(0x10020, 4000, 2);       // reaches into the next page
    blocks.add(0x20000, 100 << 20, 3);  // a large one
    blocks.add(0x7000000, 0, 4);        // even of nothing there is one byte
    EXPECT_EQ(blocks.owner_at(0xffff), 0u);
    EXPECT_EQ(blocks.owner_at(0x10000), 1u);
    EXPECT_EQ(blocks.owner_at(0x1001f), 1u);
    EXPECT_EQ(blocks.owner_at(0x10020), 2u);
    EXPECT_EQ(blocks.owner_at(0x10020 + 3999), 2u);
    EXPECT_EQ(blocks.owner_at(0x11f00), 0u);
    EXPECT_EQ(blocks.owner_at(0x20000), 3u);
    EXPECT_EQ(blocks.owner_at(0x20000 + (100 << 20) - 1), 3u);
    EXPECT_EQ(blocks.owner_at(0x20000 + (100 << 20)), 0u);
    EXPECT_EQ(blocks.owner_at(0x7000000), 4u);
    EXPECT_EQ(blocks.sum_of(1).bytes, 32u);
    EXPECT_EQ(blocks.sum_of(3).bytes, 100u << 20);
    blocks.remove(0x20000);
    blocks.remove(0x10000);
    blocks.remove(0x10010);  // none begins there
    EXPECT_EQ(blocks.owner_at(0x20000), 0u);
    EXPECT_EQ(blocks.owner_at(0x10000), 0u);
    EXPECT_EQ(blocks.sum_of(3).blocks, 0u);
    EXPECT_EQ(blocks.sum_of(1).bytes, 0u);
    EXPECT_EQ(blocks.sum_of(2).blocks, 1u);
    EXPECT_EQ(blocks.sum_of(1000).blocks, 0u);
}

TEST(HeapBlocks, WhatIsAllocatedOverOthersTakesTheirPlace) {
    HeapBlocks blocks;
    blocks.add(0x10000, 1 << 20, 1);
    blocks.add(0x20000, 32, 2);  // somebody else freed the large one
    EXPECT_EQ(blocks.owner_at(0x10000), 0u);
    EXPECT_EQ(blocks.owner_at(0x20010), 2u);
    blocks.add(0x1f000, 1 << 20, 3);
    EXPECT_EQ(blocks.owner_at(0x20010), 3u);
    EXPECT_EQ(blocks.sum_of(2).blocks, 0u);
}

TEST(HeapBlocks, KeepsWhatIsRemovedUntilItMayGo) {
    HeapBlocks blocks;
    blocks.add(0x10000, 32, 1);
    blocks.add(0x10020, 32, 1);
    blocks.add(0x30000, 1 << 20, 2);
    blocks.keep_removed();
    blocks.remove(0x10000);
    blocks.remove(0x10020);
    blocks.remove(0x30000);
    EXPECT_EQ(blocks.owner_at(0x10000), 1u);
    EXPECT_EQ(blocks.owner_at(0x30000), 2u);
    blocks.add(0x10020, 64, 3);  // allocated again: the new one stays
    blocks.drop_removed();
    EXPECT_EQ(blocks.owner_at(0x10000), 0u);
    EXPECT_EQ(blocks.owner_at(0x30000), 0u);
    EXPECT_EQ(blocks.owner_at(0x10040), 3u);
    blocks.remove(0x10020);
    EXPECT_EQ(blocks.owner_at(0x10020), 0u);
}

TEST(HeapBlocks, AreThoseOfAPlainMapWhateverComes) {
    struct Block {
        std::uint64_t bytes = 0;
        std::uint32_t owner = 0;
    };
    std::map<std::uint64_t, Block> truth;
    HeapBlocks blocks;
    Random random(16);
    constexpr std::uint64_t base = 0x100000, places = 300, owners = 50;
    for (int round = 0; round < 20000; ++round) {
        const bool large = random.next() % 8 == 0;
        const std::uint64_t apart = large ? 16384 : 512, first = large ? base + (1 << 20) : base;
        const std::uint64_t begin = first + apart * random.below(places);
        if (random.next() % 3 == 0) {
            blocks.remove(begin);
            truth.erase(begin);
            continue;
        }
        const Block block{1 + random.below(apart), static_cast<std::uint32_t>(1 + random.below(owners))};
        blocks.add(begin, block.bytes, block.owner);
        truth[begin] = block;
    }
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const auto& [begin, block] : truth) {
        EXPECT_EQ(blocks.owner_at(begin), block.owner);
        EXPECT_EQ(blocks.owner_at(begin + block.bytes - 1), block.owner);
        ++counts[block.owner];
    }
    for (std::uint64_t place = 0; place < places; ++place)
        for (const std::uint64_t begin : {base + 512 * place, base + (1 << 20) + 16384 * place})
            if (!truth.contains(begin)) EXPECT_EQ(blocks.owner_at(begin), 0u);
    for (std::uint32_t owner = 1; owner <= owners; ++owner) EXPECT_EQ(blocks.sum_of(owner).blocks, counts[owner]);
}

}  // namespace
}  // namespace tmaprobe::trace
