#include "base/shell.h"

#include <gtest/gtest.h>

namespace tmaprobe {
namespace {

TEST(Shell, WordsComeBackAsTheyWere) {
    const std::vector<std::string> words{"sh", "-c", "echo 'a  b' \"$HOME\"; exit 3", "", "it's", "x=1,2"};
    EXPECT_EQ(shell_words(shell_quoted(words)), words);
}

TEST(Shell, PlainWordsHaveNoQuotes) { EXPECT_EQ(shell_quoted({"ls", "-l", "/tmp/a.b"}), "ls -l /tmp/a.b"); }

}  // namespace
}  // namespace tmaprobe
