#include "base/suggest.h"

#include <gtest/gtest.h>

namespace tmaprobe {
namespace {

TEST(Suggest, TheNearestWordWithinATypo) {
    EXPECT_EQ(suggest("sha265", {"chase", "sha256"}), "did you mean 'sha256'?");
    EXPECT_EQ(suggest("strem", {"chase", "stream"}), "did you mean 'stream'?");
}

TEST(Suggest, AShortListWhenNothingIsNear) {
    EXPECT_EQ(suggest("quicksort", {"chase", "stream"}), "one of: chase, stream");
}

TEST(Suggest, NothingForALongListOrNone) {
    EXPECT_EQ(suggest("zzzzzzzz", std::vector<std::string>(50, "abc")), "");
    EXPECT_EQ(suggest("x", {}), "");
}

}  // namespace
}  // namespace tmaprobe
