#include "symbols/perf_map.h"

#include <gtest/gtest.h>

namespace tmaprobe::symbols {
namespace {

TEST(PerfMap, HasFunctionsByAddress) {
    const auto map = PerfMap::parse("2000 10 LazyCompile:~second a.js:1\n1000 20 first\nnonsense\n30 zz\n");
    ASSERT_NE(map.find(0x1000), nullptr);
    EXPECT_EQ(map.find(0x101f)->name, "first");
    EXPECT_EQ(map.find(0x1020), nullptr);
    EXPECT_EQ(map.find(0xfff), nullptr);
    EXPECT_EQ(map.find(0x200f)->name, "LazyCompile:~second a.js:1");
}

TEST(PerfMap, OfWhatIsToldTwiceTheLastIsTrue) {
    EXPECT_EQ(PerfMap::parse("1000 20 old\n1000 20 fresh\n").find(0x1008)->name, "fresh");
}

TEST(PerfMap, IsEmptyWithoutAFile) { EXPECT_TRUE(PerfMap::of_process(-1).empty()); }

}  // namespace
}  // namespace tmaprobe::symbols
