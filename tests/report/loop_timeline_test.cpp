#include "report/loop_timeline.h"

#include <gmock/gmock.h>

namespace tmaprobe::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A multiplication whose result the next one takes, and a branch beside it.
record::LoopTimeline multiplications() {
    record::LoopTimeline timeline;
    timeline.module = "/bin/prog";
    timeline.function = "power";
    timeline.file = "/src/power.c";
    timeline.first_line = 3;
    timeline.last_line = 4;
    timeline.share = 0.5;
    timeline.cycles = 3;
    timeline.times_around = 400;
    timeline.steps = {{0x10, "imulq %rax, %rax", "power", "/src/power.c", 4, 0, 3, 6, 7, {"p01"}, 0},
                      {0x14, "jne 0x10", "power", "/src/power.c", 3, 0, 1, 2, 7, {"p06"}, std::nullopt}};
    timeline.chain = {{0, 3}};
    timeline.chain_times_around = 1;
    timeline.port_cycles = {{"p01", 1}, {"p06", 0.5}};
    return timeline;
}

TEST(LoopTimeline, IsAPictureOfCycles) {
    const auto picture = picture_of(multiplications(), 80);
    EXPECT_EQ(picture.cycles_each, 1u);
    EXPECT_EQ(picture.ruler, "0       ");
    EXPECT_THAT(picture.rows, ElementsAre("D==eeE-R", "DE-----R"));
}

TEST(LoopTimeline, OfManyCyclesHasSeveralInACharacter) {
    auto timeline = multiplications();
    timeline.chain.clear();
    timeline.steps[0].done = 95;
    timeline.steps[0].retired = timeline.steps[1].retired = 99;
    const auto picture = picture_of(timeline, 20);
    EXPECT_EQ(picture.cycles_each, 5u);
    EXPECT_EQ(scale_of(picture), "5 cycles a character");
    EXPECT_EQ(picture.ruler.size(), 20u);
    EXPECT_THAT(picture.rows, ElementsAre("DeeeeeeeeeeeeeeeeeER", "D------------------R"));
}

TEST(LoopTimeline, BeginsWhereTheChainDoesIfAllOfItHasNoRoom) {
    auto timeline = multiplications();
    timeline.steps[0].issued = 1001;
    timeline.steps[0].done = 1004;
    timeline.steps[0].retired = timeline.steps[1].retired = 1005;
    const auto picture = picture_of(timeline, 20);
    EXPECT_EQ(scale_of(picture), "from cycle 1000 on");
    EXPECT_THAT(picture.rows, ElementsAre("=eeE-R", "-----R"));
    timeline.chain = {{0, 3}, {9, 1}};
    timeline.steps[0].issued = timeline.steps[1].renamed = ~0ull;
    EXPECT_EQ(picture_of(timeline, 20).rows.size(), 2u) << "a record may say anything";
}

TEST(LoopTimeline, SaysWhatHoldsItUp) {
    auto timeline = multiplications();
    EXPECT_EQ(heading_of(timeline),
              "in power (power.c:3-4): 50.0% of slots, 3 cycles a time around (the median of 400)");
    EXPECT_EQ(chain_text(timeline), "3 cycles a time around: imulq 3, and again");
    EXPECT_EQ(ports_text(timeline), "p01 1.00, p06 0.50");
    EXPECT_TRUE(is_in(timeline, "power"));
    EXPECT_FALSE(is_in(timeline, "pow"));
    timeline.chain_times_around = 2;
    EXPECT_THAT(chain_text(timeline), HasSubstr("3 cycles in 2 times around"));
    timeline.chain_times_around = 0;
    EXPECT_THAT(chain_text(timeline), HasSubstr("not from one time around to the next"));
    timeline.chain = {{7, 1}};
    EXPECT_EQ(chain_text(timeline), "") << "a record may name a step that it does not have";
}

}  // namespace
}  // namespace tmaprobe::report
