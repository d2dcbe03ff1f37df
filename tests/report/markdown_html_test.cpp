#include "report/markdown_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/json/file.h"
#include "report/formats.h"

namespace tmaprobe::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MarkdownHtml, HasHeadingsTablesListsAndQuotes) {
    EXPECT_EQ(markdown_html("## A \\# b\n\n**bold** and `x_y & z`\n"),
              "<h2>A # b</h2>\n<p><strong>bold</strong> and <code>x_y &amp; z</code></p>\n");
    EXPECT_EQ(markdown_html("| a | b |\n| --- | ---: |\n| 1 | x \\| y |\n\n- one\n- two\n"),
              "<div class=\"scroll\"><table>\n<tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr>\n"
              "<tr><td>1</td><td>x | y</td></tr>\n</table></div>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n");
    EXPECT_EQ(markdown_html("> careful\n"), "<p class=\"warning\">careful</p>\n");
}

TEST(MarkdownHtml, BringsNoMarkupOfARecordToLife) {
    const auto records = record::read_records(TMAPROBE_SOURCE_DIR "/tests/report/records/hostile.json");
    ASSERT_TRUE(records);
    const std::string html = markdown_html(write_markdown(*records));
    for (const char* tag : {"<script", "<img", "<a ", "<b>", "</noscript"}) EXPECT_THAT(html, Not(HasSubstr(tag)));
}

}  // namespace
}  // namespace tmaprobe::report
