#include "trace/region_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tmaprobe::trace {
namespace {

using testing::ElementsAre;

TEST(RegionPaths, EachHasOneNumberAndNoneIsZero) {
    RegionPaths paths;
    EXPECT_EQ(paths.number_of({}), 0u);
    const auto one = paths.number_of({3}), two = paths.number_of({3, 5});
    EXPECT_NE(one, two);
    EXPECT_EQ(paths.number_of({3}), one);
    EXPECT_THAT(paths.all()[two], ElementsAre(3, 5));
}

TEST(RegionPaths, RecursionsAreAsManyAsThereAreRegions) {
    RegionPaths paths;
    std::vector<std::uint32_t> open;
    for (int i = 0; i < 100; ++i) open.push_back(i % 2 ? 8 : 7);
    EXPECT_THAT(paths.all()[paths.number_of(open)], ElementsAre(7, 8));
    open.push_back(7);
    EXPECT_THAT(paths.all()[paths.number_of(open)], ElementsAre(7, 8, 7));  // the innermost is the last
    EXPECT_EQ(paths.all().size(), 3u);
}

TEST(RegionWatch, WithoutMarksAndFunctionsThereIsNothingToWatch) {
    RegionPaths paths;
    std::map<std::uint32_t, SeenEntries> seen;
    const std::vector<RegionFunction> none;
    RegionWatch watch(paths, nullptr, none, Identity(), seen);
    EXPECT_FALSE(watch.watches());
    StaticInstruction instruction;
    instruction.address = 0x1000;
    Step step;
    EXPECT_TRUE(watch.is_own(instruction, step));
    EXPECT_EQ(step.regions, 0u);
}

}  // namespace
}  // namespace tmaprobe::trace
