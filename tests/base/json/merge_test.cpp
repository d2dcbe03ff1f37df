#include "base/json/merge.h"

#include <gtest/gtest.h>

namespace tmaprobe::json {
namespace {

struct Case {
    const char* base;
    const char* patch;
    const char* merged;
};

class Merge : public testing::TestWithParam<Case> {};

TEST_P(Merge, IsAsTheStandardsExamples) {
    const auto base = parse(GetParam().base, "base"), patch = parse(GetParam().patch, "patch");
    ASSERT_TRUE(base && patch);
    Writer writer;
    write_merged(writer, base->root(), patch->root());
    EXPECT_EQ(writer.take(), GetParam().merged);
}

// RFC 7396, appendix A.
INSTANTIATE_TEST_SUITE_P(
    Examples, Merge,
    testing::Values(Case{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                    Case{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                    Case{R"({"a":"b"})", R"({"a":null})", "{}"},
                    Case{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
                    Case{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                    Case{R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
                    Case{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
                    Case{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                    Case{R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"}, Case{R"({"a":"b"})", R"(["c"])", R"(["c"])"},
                    Case{R"({"a":"foo"})", "null", "null"}, Case{R"({"a":"foo"})", R"("bar")", R"("bar")"},
                    Case{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                    Case{"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
                    Case{"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}));

TEST(Merge, LeavesOutWhatItIsTold) {
    const auto base = parse(R"({"a": -1, "x": 0.5, "deep": {"x": true}})", "base"),
               patch = parse(R"({"x": 2, "b": 18446744073709551615})", "patch");
    ASSERT_TRUE(base && patch);
    Writer writer;
    write_merged(writer, base->root(), patch->root(), "x");
    EXPECT_EQ(writer.take(), R"({"a":-1,"deep":{"x":true},"b":18446744073709551615})");
}

}  // namespace
}  // namespace tmaprobe::json
