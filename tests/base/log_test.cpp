#include "base/log.h"

#include <gtest/gtest.h>

namespace tmaprobe::log {
namespace {

/// What `work` says at this level.
template <class Work>
std::string said(Level level, Work work) {
    set_level(level);
    testing::internal::CaptureStderr();
    work();
    std::fflush(stderr);
    set_level(Level::silent);
    return testing::internal::GetCapturedStderr();
}

void say_both() {
    info("chosen {}", 1);
    detail("opened {}", 2);
}

TEST(Log, IsSilentUnlessAsked) { EXPECT_EQ(said(Level::silent, say_both), ""); }

TEST(Log, LevelsAddUp) {
    const std::string info = said(Level::info, say_both), detail = said(Level::detail, say_both);
    EXPECT_NE(info.find("chosen 1\n"), std::string::npos);
    EXPECT_EQ(info.find("opened"), std::string::npos);
    EXPECT_NE(detail.find("chosen 1\n"), std::string::npos);
    EXPECT_NE(detail.find("opened 2\n"), std::string::npos);
    EXPECT_TRUE(info.starts_with("tmaprobe: "));
}

TEST(Log, ForeignTextCannotSteerATerminal) {
    const std::string text = said(Level::info, [] { info("file {}", "a\x1b[2J\nb\xff"); });
    EXPECT_NE(text.find("a\\x1b[2J\\x0ab\xef\xbf\xbd\n"), std::string::npos) << text;
}

TEST(Log, AStepSaysHowLongItTook) {
    const std::string text = said(Level::info, [] { const Step step("loading tables"); });
    EXPECT_NE(text.find("loading tables took "), std::string::npos);
    EXPECT_NE(text.find(" ms\n"), std::string::npos);
}

TEST(Log, LevelsHaveNames) {
    EXPECT_EQ(level_named("info"), Level::info);
    EXPECT_EQ(level_named("detail"), Level::detail);
    EXPECT_EQ(level_named(""), Level::silent);
}

}  // namespace
}  // namespace tmaprobe::log
