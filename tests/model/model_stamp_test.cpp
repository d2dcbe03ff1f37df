#include "model/model_stamp.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

TEST(ModelStamp, IsAnotherForAllThatCostsDependOn) {
    const std::string stamp = stamp_of(2, "19.1.7", "{\"core\": 1}");
    EXPECT_EQ(stamp, stamp_of(2, "19.1.7", "{\"core\": 1}"));
    EXPECT_NE(stamp, stamp_of(3, "19.1.7", "{\"core\": 1}"));
    EXPECT_NE(stamp, stamp_of(2, "20.1.0", "{\"core\": 1}"));
    EXPECT_NE(stamp, stamp_of(2, "19.1.7", "{\"core\": 2}"));
    EXPECT_TRUE(stamp.starts_with("2-19.1.7-")) << stamp;
}

}  // namespace
}  // namespace tmaprobe::model
