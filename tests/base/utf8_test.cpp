#include "base/utf8.h"

#include <gtest/gtest.h>

namespace tmaprobe {
namespace {

TEST(Utf8, ValidTextStaysAsItIs) {
    const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf";
    EXPECT_EQ(valid_utf8(text), text);
    EXPECT_EQ(first_character("\xf0\x9f\x98\x80").code, 0x1f600u);
}

TEST(Utf8, EveryOtherByteIsReplaced) {
    const std::string r = "\xef\xbf\xbd";
    EXPECT_EQ(valid_utf8("\xff"), r);
    EXPECT_EQ(valid_utf8("\xc0\xaf"), r + r);                  // overlong
    EXPECT_EQ(valid_utf8("\xe0\x80\x80"), r + r + r);          // overlong
    EXPECT_EQ(valid_utf8("\xed\xa0\x80"), r + r + r);          // a surrogate
    EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), r + r + r + r);  // above U+10FFFF
    EXPECT_EQ(valid_utf8("a\xe2\x82"), "a" + r + r);           // cut off
}

}  // namespace
}  // namespace tmaprobe
