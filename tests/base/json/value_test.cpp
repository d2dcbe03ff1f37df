#include "base/json/value.h"

#include <gtest/gtest.h>

namespace tmaprobe::json {
namespace {

TEST(JsonValue, EveryKindIsWhatItIs) {
    const auto document = parse(R"({"a": [1, -2, 2.5, 3.0], "b": "text", "c": true, "d": null, "e": {}})", "test");
    ASSERT_TRUE(document);
    const Value root = document->root();
    EXPECT_EQ(root.size(), 5u);
    const Value list = root.at("a");
    std::vector<double> numbers;
    for (const Value value : list) numbers.push_back(value.number_or(0));
    EXPECT_EQ(numbers, (std::vector<double>{1, -2, 2.5, 3}));
    EXPECT_EQ(root.at("b").text(), "text");
    EXPECT_EQ(root.at("c").boolean(), true);
    EXPECT_TRUE(root.at("d").is_null());
    EXPECT_TRUE(root.at("e").is_object());
    EXPECT_EQ(root.at("e").begin(), root.at("e").end());
}

TEST(JsonValue, WholeNumbersAreWholeHoweverWritten) {
    const auto document = parse("[3, 3.0, 3.5, -3, 18446744073709551615, 1e300]", "test");
    ASSERT_TRUE(document);
    std::vector<std::optional<std::uint64_t>> counts;
    for (const Value value : document->root()) counts.push_back(value.count());
    EXPECT_EQ(counts, (std::vector<std::optional<std::uint64_t>>{3, 3, {}, {}, UINT64_MAX, {}}));
    auto value = document->root().begin();
    EXPECT_EQ((*value).integer(), 3);
    for (int i = 0; i < 3; ++i) ++value;
    EXPECT_EQ((*value).integer(), -3);
    ++value;
    EXPECT_EQ((*value).integer(), std::nullopt);
}

TEST(JsonValue, WhatIsMissingHasNothing) {
    const auto document = parse(R"({"a": 1})", "test");
    ASSERT_TRUE(document);
    const Value none = document->root().at("b").at("c");
    EXPECT_TRUE(none.missing());
    EXPECT_EQ(none.size(), 0u);
    EXPECT_EQ(none.begin(), none.end());
    EXPECT_EQ(none.text(), std::nullopt);
    EXPECT_EQ(document->root().at("a").at("x").number_or(7), 7);
}

TEST(JsonValue, OfSeveralMembersTheLastCounts) {
    EXPECT_EQ(parse(R"({"a": 1, "b": {"a": 3}, "a": 2})", "test")->root().at("a").number(), 2);
}

TEST(JsonValue, ErrorsSayWhere) {
    const struct {
        const char* text;
        const char* place;
    } cases[] = {
        {"{\"a\": 1,\n \"b\" 2}", "file:2:6: "},
        {"[1, 2", "file:1:6: "},
        {"", "file:1:1: "},
        {"[\"\xff\"]", "file:1:3: "},
        {"[1] 2", "file:1:5: "},
    };
    for (const auto& one : cases) {
        const auto document = parse(one.text, "file");
        ASSERT_FALSE(document) << one.text;
        EXPECT_EQ(document.error().code, ErrorCode::bad_input);
        EXPECT_TRUE(document.error().what.starts_with(one.place)) << document.error().what;
    }
    EXPECT_FALSE(parse(std::string_view("[1]\0", 4), "file"));
}

TEST(JsonValue, DeepNestingIsRefused) {
    EXPECT_TRUE(parse(std::string(100, '[') + std::string(100, ']'), "file"));
    const auto deep = parse(std::string(1'000'000, '['), "file");
    ASSERT_FALSE(deep);
    EXPECT_NE(deep.error().what.find("nested too deeply"), std::string::npos);
}

TEST(JsonValue, OneValueAfterTheOther) {
    const std::string text = " {\"a\": 1}\n[2]\n{";
    std::size_t at = 0;
    auto first = parse_next(text, "file", at);
    ASSERT_TRUE(first);
    EXPECT_EQ(text.substr(at), "\n[2]\n{");
    auto second = parse_next(text, "file", at);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->root().size(), 1u);
    EXPECT_EQ(text.substr(at), "\n{");
    const auto third = parse_next(text, "file", at);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().what, "file:3:2: not valid JSON: the text ends too early");
}

}  // namespace
}  // namespace tmaprobe::json
