#include "events/core_error.h"

#include <gtest/gtest.h>

#include <set>

#include "events/table.h"

namespace tmaprobe::events {
namespace {

TEST(CoreError, IsThatOfTheCoreOrThatOfAllWhichNobodyTimed) {
    const auto timed = read_core_error({}, "amdzen4"), other = read_core_error({}, "skylakex");
    ASSERT_TRUE(timed) << timed.error().what;
    ASSERT_TRUE(other) << other.error().what;
    EXPECT_FALSE(timed->folders.empty());
    EXPECT_TRUE(other->folders.empty());
}

TEST(CoreError, NamesEachCauseOnceAndTakesNoMoreAwayThanThereIs) {
    for (const char* folder : {"amdzen4", "skylakex"}) {
        const auto error = read_core_error({}, folder);
        ASSERT_TRUE(error);
        std::set<record::SlotCause> seen;
        for (const CauseError& one : error->causes) {
            EXPECT_TRUE(seen.insert(one.cause).second) << folder << ": " << name_of(one.cause);
            EXPECT_GE(one.more, 0);
            EXPECT_GE(one.less, 0);
            EXPECT_LT(one.less, 1);
            if (one.cause == record::SlotCause::retiring) {
                EXPECT_EQ(one.less, 0) << "what was executed has to retire";
                EXPECT_NE(one.as, record::SlotCause::retiring);
            }
        }
        EXPECT_FALSE(seen.empty());
    }
}

TEST(CoreError, IsLargerWhereNobodyTimedTheCore) {
    const auto timed = read_core_error({}, "amdzen4"), other = read_core_error({}, "skylakex");
    ASSERT_TRUE(timed && other);
    for (const CauseError& one : other->causes)
        for (const CauseError& same : timed->causes)
            if (one.cause == same.cause) {
                EXPECT_GE(one.more, same.more) << name_of(one.cause);
                EXPECT_GE(one.less, same.less) << name_of(one.cause);
            }
}

}  // namespace
}  // namespace tmaprobe::events
