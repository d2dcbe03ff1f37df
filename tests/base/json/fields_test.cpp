#include <gtest/gtest.h>

#include <cmath>

#include "base/json/read.h"
#include "base/json/write.h"

namespace tmaprobe::json {

enum class Colour { red, green };

struct Inner {
    double size = 1;
    std::optional<int> count;
};

struct Outer {
    std::string name;
    Colour colour = Colour::red;
    std::vector<Inner> inner;
    std::map<std::string, std::uint64_t> bytes;
    std::variant<bool, std::int64_t, double, std::string> any;
    std::vector<int> later, rarely;
};

template <>
struct Names<Colour> {
    static constexpr std::array<std::pair<Colour, std::string_view>, 2> values{{{Colour::red, "red"}, {Colour::green, "green"}}};
};
template <>
struct Description<Inner> {
    static constexpr std::string_view name = "inner", meaning = "";
    static constexpr auto fields = std::make_tuple(field("size", &Inner::size), field("count", &Inner::count));
};
template <>
struct Description<Outer> {
    static constexpr std::string_view name = "outer", meaning = "";
    static constexpr auto fields =
        std::make_tuple(field("name", &Outer::name), field("colour", &Outer::colour), field("inner", &Outer::inner),
                        field("bytes", &Outer::bytes), field("any", &Outer::any), added("later", &Outer::later),
                        optional("rarely", &Outer::rarely));
};

namespace {

std::string written(const Outer& outer) {
    Writer writer;
    write(writer, outer);
    return writer.take();
}

/// What is wrong with the text, or "".
std::string problem_of(const std::string& text, Outer& outer) {
    const auto document = parse(text, "text");
    if (!document) return document.error().what;
    std::string problem;
    read(Node(document->root(), problem), outer);
    return problem;
}

constexpr const char* whole =
    R"({"name":"a","colour":"green","inner":[{"size":2.5,"count":null},{"size":null,"count":3}],"bytes":{"x":7},"any":"b","later":[1]})";

TEST(JsonFields, WhatIsReadIsWrittenAgain) {
    Outer outer;
    EXPECT_EQ(problem_of(whole, outer), "");
    EXPECT_EQ(outer.colour, Colour::green);
    EXPECT_TRUE(std::isnan(outer.inner[1].size));
    EXPECT_EQ(outer.inner[1].count, 3);
    EXPECT_EQ(std::get<std::string>(outer.any), "b");
    EXPECT_EQ(written(outer), whole);
    outer.rarely = {4};
    EXPECT_NE(written(outer).find("\"rarely\":[4]"), std::string::npos);
}

TEST(JsonFields, WhatWasAddedLaterMayBeMissing) {
    std::string text = whole;
    text.replace(text.find(",\"later\":[1]"), 12, "");
    Outer outer;
    EXPECT_EQ(problem_of(text, outer), "");
    EXPECT_TRUE(outer.later.empty());
}

TEST(JsonFields, ProblemsSayWhere) {
    const struct { const char* from; const char* to; const char* problem; } cases[] = {
        {"\"count\":3", "\"count\":\"x\"", "inner[1].count is not a whole number"},
        {"\"count\":3", "\"count\":5000000000", "inner[1].count is too large"},
        {"\"green\"", "\"grren\"", "colour is 'grren'; did you mean 'green'?"},
        {"\"name\":\"a\",", "", "name is missing"},
        {"{\"x\":7}", "{\"x\":-7}", "bytes.x is not a whole number of 0 or more"},
        {"\"any\":\"b\"", "\"any\":[]", "any is an array"},
        {"{\"x\":7}", "[]", "bytes is not an object"},
    };
    for (const auto& one : cases) {
        std::string text = whole;
        text.replace(text.find(one.from), std::string_view(one.from).size(), one.to);
        Outer outer;
        EXPECT_EQ(problem_of(text, outer), one.problem);
    }
}

}  // namespace
}  // namespace tmaprobe::json
