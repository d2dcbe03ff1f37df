#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tmaprobe::cli {
namespace {

using experiments::Progress;
using experiments::ProgressOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProgressText, AHundredPercentIsNeverSaidBeforeTheReport) {
    ProgressText text;
    EXPECT_THAT(text.update({"256M 2m", 1, ""}, 100), Not(HasSubstr("100")));
    EXPECT_THAT(text.update({"256M 2m", 0.996, ""}, 100), HasSubstr("99%"));
}

TEST(ProgressText, TimeLeftIsWithinAFactorOfTwoFromATenthOn) {
    // The pace varies by half up and down around the one that the shares were made with.
    constexpr int parts = 60;
    double spent = 0, all = 0;
    const auto seconds_of = [](int part) { return 2 + std::sin(part * 0.9); };
    for (int part = 0; part < parts; ++part) all += seconds_of(part);
    ProgressText text;
    for (int part = 0; part + 1 < parts; ++part) {
        spent += seconds_of(part);
        const double done = (part + 1.0) / parts;
        text.update({"stage", done, ""}, spent);
        if (done < 0.1) {
            EXPECT_FALSE(text.left());
            continue;
        }
        ASSERT_TRUE(text.left());
        EXPECT_LT(*text.left(), 2 * (all - spent)) << done;
        EXPECT_GT(*text.left(), (all - spent) / 2) << done;
    }
}

TEST(ProgressText, AStepOfAJobOfUnknownLengthPromisesNothing) {
    ProgressText text;
    const std::string line = text.update({"timing, until the median is tight", 0.9, "", ProgressOf::step}, 10);
    EXPECT_EQ(line, "timing, until the median is tight");
    EXPECT_FALSE(text.left());
}

TEST(RoughTime, IsAsExactAsAnEstimate) {
    EXPECT_EQ(rough_time(0.2), "1 s");
    EXPECT_EQ(rough_time(41.6), "42 s");
    EXPECT_EQ(rough_time(200), "3 min");
    EXPECT_EQ(rough_time(4000), "67 min");
    EXPECT_EQ(rough_time(8000), "2 h 13 min");
}

}  // namespace
}  // namespace tmaprobe::cli
