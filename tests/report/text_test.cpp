#include "report/text.h"

#include <gtest/gtest.h>

namespace tmaprobe::report {
namespace {

TEST(Clean, RemovesWhatATerminalWouldObey) {
    EXPECT_EQ(clean("a\x1b[31mb\x1b[0mc"), "abc");
    EXPECT_EQ(clean("a\x1b]0;title\x07"
                    "b"),
              "ab");
    EXPECT_EQ(clean("a\x1b]8;;http://x\x1b\\b"), "ab");
    EXPECT_EQ(clean("a\x1b[999999"), "a");
    EXPECT_EQ(clean("a\x1b"), "a");
    EXPECT_EQ(clean("a\x1b\xef\xbf\xbd"
                    "b"),
              "ab");  // a character of three bytes is not cut in two
    EXPECT_EQ(clean("a\x1b]x\x1b\xef\xbf\xbd"
                    "b"),
              "ab");
    EXPECT_EQ(clean("a\nb\tc\rd"), "a b c d");
    EXPECT_EQ(clean(std::string("a\0b\x7f\x08", 5)), "ab");
    EXPECT_EQ(clean("a\xc2\x9b"
                    "31mb"),
              "a31mb")
        << "the one-byte CSI of C1";
    EXPECT_EQ(clean("a\xe2\x80\xae"
                    "b\xe2\x80\xa8"
                    "c"),
              "abc")
        << "direction and line separators";
}

TEST(Clean, KeepsWordsAndReplacesBrokenBytes) {
    EXPECT_EQ(clean("naïve 日本"), "naïve 日本");
    EXPECT_EQ(clean("caf\xe9"), "caf\xef\xbf\xbd");
    EXPECT_EQ(clean("naïve", true), "na?ve");
}

TEST(Width, CountsColumnsNotBytes) {
    EXPECT_EQ(width_of("abc"), 3u);
    EXPECT_EQ(width_of("naïve"), 5u);
    EXPECT_EQ(width_of("日本"), 4u);
    EXPECT_EQ(pad_left("ï", 3), "  ï");
    EXPECT_EQ(pad_right("日", 3), "日 ");
}

TEST(Shorten, KeepsBothEnds) {
    EXPECT_EQ(shorten("backend_bound", 13, false), "backend_bound");
    EXPECT_EQ(shorten("backend_bound_memory", 11, false), "backe…emory");
    EXPECT_EQ(shorten("backend_bound_memory", 12, true), "backe..emory");
    EXPECT_EQ(width_of(shorten(std::string(3'000'000, 'x'), 20, false)), 20u) << "in one pass over the text";
    for (std::size_t width = 3; width < 30; ++width)
        EXPECT_LE(width_of(shorten("日本語のカーネル名前 kernel", width, false)), width);
}

TEST(Wrap, BreaksAtSpacesOnly) {
    EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap("unbreakable", 4), (std::vector<std::string>{"unbreakable"}));
    EXPECT_EQ(wrap("", 4), (std::vector<std::string>{""}));
}

TEST(Bar, IsCutAtItsWidth) {
    EXPECT_EQ(bar(0.5, 4, false), "██");
    EXPECT_EQ(bar(132.73, 4, false), "████");
    EXPECT_EQ(bar(-1, 4, false), "");
    EXPECT_EQ(bar(1e-9, 4, false), "▏") << "what is there shows";
    EXPECT_EQ(bar(0.5, 4, true), "##");
}

}  // namespace
}  // namespace tmaprobe::report
