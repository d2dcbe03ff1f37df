#include "model/memory_areas.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

using process::MemoryMapping;
using record::DataKind;

MemoryMapping piece(std::uint64_t begin, std::uint64_t end, const std::string& path, bool writable = true) {
    MemoryMapping one;
    one.begin = begin;
    one.end = end;
    one.path = path;
    one.inode = path.empty() || path[0] == '[' ? 0 : 5;
    one.writable = writable;
    return one;
}

TEST(MemoryAreas, AreTheSameInProcessesThatHaveThemElsewhere) {
    const std::vector<std::vector<MemoryMapping>> mappings{
        {piece(0x1000, 0x2000, "/a", false), piece(0x2000, 0x3000, "/a"), piece(0x3000, 0x9000, ""),
         piece(0x20000, 0x30000, "[heap]")},
        {piece(0x51000, 0x52000, "/a", false), piece(0x52000, 0x53000, "/a"), piece(0x53000, 0x59000, ""),
         piece(0x70000, 0x90000, "[heap]")}};
    const MemoryAreas areas(mappings);
    ASSERT_EQ(areas.size(), 3u);
    const auto file = areas.at(0, 0x1800), zeroed = areas.at(0, 0x3000), heap = areas.at(0, 0x20000);
    ASSERT_TRUE(file && zeroed && heap);
    EXPECT_EQ(areas.at(1, 0x52fff), file);
    EXPECT_EQ(areas.at(1, 0x53000), zeroed);
    EXPECT_EQ(areas.at(1, 0x8ffff), heap);
    EXPECT_TRUE(areas[*zeroed].zeroed);
    EXPECT_EQ(areas[*zeroed].path, "/a");
    EXPECT_EQ(areas[*heap].kind, DataKind::heap);
    EXPECT_EQ(areas[*heap].bytes, 0x20000u);
    EXPECT_EQ(areas.places(*heap, 1), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0x70000, 0x90000}}));
    EXPECT_FALSE(areas.at(0, 0x90000));
    EXPECT_FALSE(areas.at(7, 0x1000));
}

TEST(MemoryAreas, OfNoFileAreOneWhenTheyOverlap) {
    const std::vector<std::vector<MemoryMapping>> mappings{{piece(0x10000, 0x20000, "")},
                                                           {piece(0x8000, 0x20000, ""), piece(0x40000, 0x50000, "")}};
    const MemoryAreas areas(mappings);
    ASSERT_EQ(areas.size(), 2u);
    EXPECT_EQ(areas.at(0, 0x10000), areas.at(1, 0x8000));
    EXPECT_EQ(areas[*areas.at(0, 0x10000)].bytes, 0x18000u);
    EXPECT_NE(areas.at(1, 0x40000), areas.at(1, 0x8000));
}

}  // namespace
}  // namespace tmaprobe::model
