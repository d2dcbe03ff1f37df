// The parser against an independent library, on whole and on damaged texts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json/value.h"

namespace tmaprobe::json {
namespace {

using Other = nlohmann::ordered_json;

void expect_same(Value ours, const Other& theirs) {
    switch (theirs.type()) {
        case Other::value_t::null:
            EXPECT_TRUE(ours.is_null());
            break;
        case Other::value_t::boolean:
            EXPECT_EQ(ours.boolean(), theirs.get<bool>());
            break;
        case Other::value_t::string:
            EXPECT_EQ(ours.text(), theirs.get_ref<const std::string&>());
            break;
        case Other::value_t::number_unsigned:
            EXPECT_EQ(ours.count(), theirs.get<std::uint64_t>());
            break;
        case Other::value_t::number_integer:
            EXPECT_EQ(ours.integer(), theirs.get<std::int64_t>());
            break;
        case Other::value_t::number_float:
            EXPECT_EQ(ours.number(), theirs.get<double>());
            break;
        default: {
            EXPECT_EQ(ours.is_array(), theirs.is_array());
            ASSERT_EQ(ours.size(), theirs.size());
            auto member = ours.begin();
            for (const auto& [key, value] : theirs.items()) {
                if (theirs.is_object()) EXPECT_EQ((*member).key(), key);
                expect_same(*member, value);
                ++member;
            }
        }
    }
}

void expect_same(const std::string& text) {
    const auto theirs = Other::parse(text, nullptr, false);
    const auto ours = parse(text, "text");
    ASSERT_EQ(ours.has_value(), !theirs.is_discarded()) << text.substr(0, 200);
    if (ours) expect_same(ours->root(), theirs);
}

TEST(JsonParse, WhatTheOtherLibraryTakesAndRefuses) {
    for (const char* text : {"0",
                             "-0",
                             "01",
                             "-",
                             "1.",
                             ".5",
                             "1.5e",
                             "1e+5",
                             "1E-3",
                             "1e999",
                             "1e-999",
                             "-1.25e-7",
                             "123456789012345678901234567890",
                             "18446744073709551615",
                             "18446744073709551616",
                             "-9223372036854775808",
                             "-9223372036854775809",
                             "2.2250738585072011e-308",
                             "4.9e-324",
                             "0.1",
                             "1.7976931348623157e308",
                             "true",
                             "tru",
                             "false",
                             "null",
                             "nul",
                             "\"\"",
                             "\"\\u0041\\n\\\"\\/\"",
                             "\"\\x\"",
                             "\"\\ud83d\\ude00\"",
                             "\"\\ud83d\"",
                             "\"\\ude00\"",
                             "\"\\ud83d\\u0041\"",
                             "\"\\u12g4\"",
                             "\"\\u0000\"",
                             "\"a\tb\"",
                             "\"a",
                             "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
                             "\"\xc0\xaf\"",
                             "\"\xed\xa0\x80\"",
                             "\"\xf4\x90\x80\x80\"",
                             "\x7f",
                             "[]",
                             "[ ]",
                             "[1,]",
                             "[,1]",
                             "[1 2]",
                             "{}",
                             "{ }",
                             "{\"a\":1,}",
                             "{\"a\" 1}",
                             "{a:1}",
                             "{\"a\":1,\"b\":[{},[],{\"c\":[1,2]}]}",
                             "[1]]",
                             "[}",
                             "{]",
                             "",
                             " ",
                             "[1]\n ",
                             "\v1",
                             "//",
                             "+1",
                             "NaN",
                             "Infinity",
                             "'a'"})
        expect_same(text);
}

TEST(JsonParse, EveryCutAndEveryChangedByteOfARecord) {
    const auto text = read_file(TMAPROBE_SOURCE_DIR "/tests/report/records/time_only.json");
    ASSERT_TRUE(text) << text.error().what;
    expect_same(*text);
    for (std::size_t at = 0; at < text->size(); ++at) expect_same(text->substr(0, at));
    for (std::size_t at = 0; at < text->size(); ++at)
        for (const char other : {'"', '\\', ',', '}', '0', '\x80', '\x01', '\n'}) {
            std::string changed = *text;
            changed[at] = other;
            expect_same(changed);
        }
}

}  // namespace
}  // namespace tmaprobe::json
