#include "base/json/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json/value.h"

namespace tmaprobe::json {
namespace {

std::string sample(Layout layout) {
    Writer writer(layout);
    writer.begin_object();
    writer.member("list", std::vector<int>{1, -2});
    writer.key("none");
    writer.begin_array();
    writer.end_array();
    writer.member("text", "a<b\n\xc3\xa9\xf0\x9f\x98\x80\xff");
    writer.end_object();
    return writer.take();
}

TEST(JsonWriter, Layouts) {
    EXPECT_EQ(sample(Layout::line),
              "{\"list\":[1,-2],\"none\":[],\"text\":\"a<b\\n\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\"}");
    EXPECT_EQ(sample(Layout::ascii_line),
              "{\"list\":[1,-2],\"none\":[],\"text\":\"a<b\\n\\u00e9\\ud83d\\ude00\\ufffd\"}");
    EXPECT_NE(sample(Layout::script).find("a\\u003cb"), std::string::npos);
    EXPECT_TRUE(sample(Layout::indented).starts_with("{\n \"list\": [\n  1,\n  -2\n ],\n \"none\": [],\n"));
}

TEST(JsonWriter, NumbersAreShortAndExact) {
    Writer writer;
    writer.begin_array();
    for (const double value : {1.0, 0.1, -2.5, 1e300, 5e-324, std::nan(""), std::numeric_limits<double>::infinity()})
        writer.number(value);
    writer.value(std::uint64_t{18446744073709551615u});
    writer.end_array();
    EXPECT_EQ(writer.take(), "[1.0,0.1,-2.5,1e+300,5e-324,null,null,18446744073709551615]");
}

TEST(JsonWriter, WhatIsWrittenCanBeRead) {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    for (const Layout layout : {Layout::indented, Layout::line, Layout::ascii_line, Layout::script}) {
        Writer writer(layout);
        writer.begin_object();
        writer.member(bytes, bytes);
        writer.end_object();
        const auto document = parse(writer.take(), "written");
        ASSERT_TRUE(document) << document.error().what;
        EXPECT_EQ((*document->root().begin()).text()->substr(0, 128), bytes.substr(0, 128));
    }
}

}  // namespace
}  // namespace tmaprobe::json
