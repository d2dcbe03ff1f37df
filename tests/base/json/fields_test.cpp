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

/// Stands in the object of its owner.
struct State {
    std::string state;
    double change = 0;
};

struct Further {
    int size = 0;
    double cpi = 0;
    std::optional<State> state;
    std::map<std::string, std::string> options;
};

struct Outer {
    std::string name;
    Colour colour = Colour::red;
    std::vector<Inner> inner;
    std::map<std::string, std::uint64_t> bytes;
    std::variant<bool, std::int64_t, double, std::string> any;
    std::vector<int> later, rarely;
};

}  // namespace tmaprobe::json

template <>
struct tmaprobe::Names<tmaprobe::json::Colour> {
    using Colour = json::Colour;
    static constexpr std::array<std::pair<Colour, std::string_view>, 2> values{
        {{Colour::red, "red"}, {Colour::green, "green"}}};
};

namespace tmaprobe::json {

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

template <>
struct Description<State> {
    static constexpr std::string_view name = "state", meaning = "";
    static constexpr auto fields = std::make_tuple(field("state", &State::state), added("change", &State::change));
};
template <>
struct Description<Further> {
    static constexpr std::string_view name = "further", meaning = "";
    static constexpr auto fields = std::make_tuple(
        field("size", &Further::size).at_least(0), field("cpi", &Further::cpi).or_null(),
        property(
            "ipc",
            [](const Further& further) { return further.cpi > 0 ? std::optional(1 / further.cpi) : std::nullopt; },
            [](Further&, const std::optional<double>&) {}, "", Presence::added),
        inlined(&Further::state), rest(&Further::options, ""));
    static void check(const Node& node, Further& further) {
        if (further.size == 13) node.complain("is unlucky");
    }
};

namespace {

template <class T>
std::string written(const T& outer) {
    Writer writer;
    write(writer, outer);
    return writer.take();
}

/// What is wrong with the text, or "".
template <class T>
std::string problem_of(const std::string& text, T& outer) {
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

TEST(JsonFields, MembersThatAreNoMemberOfTheStruct) {
    constexpr const char* text =
        R"({"size":1,"cpi":null,"ipc":null,"state":"alone","change":0.5,"chains":"4","order":"random"})";
    Further further;
    EXPECT_EQ(problem_of(text, further), "");
    ASSERT_TRUE(further.state);
    EXPECT_EQ(further.state->change, 0.5);
    EXPECT_EQ(further.options, (std::map<std::string, std::string>{{"chains", "4"}, {"order", "random"}}));
    EXPECT_EQ(written(further), text);
    // In another order, with numbers among the rest, and what no text can hold.
    Further other;
    EXPECT_EQ(problem_of(R"({"chains":4,"big":2.5,"on":true,"list":[1],"cpi":2,"size":1})", other), "");
    EXPECT_FALSE(other.state);
    EXPECT_EQ(other.options, (std::map<std::string, std::string>{{"big", "2.5"}, {"chains", "4"}, {"on", "true"}}));
    EXPECT_EQ(written(other), R"({"size":1,"cpi":2.0,"ipc":0.5,"big":"2.5","chains":"4","on":"true"})");
    EXPECT_EQ(problem_of(R"({"size":-1,"cpi":1})", other), "size is below 0");
    EXPECT_EQ(problem_of(R"({"size":13,"cpi":1})", other), "the text is unlucky");
}

TEST(JsonFields, ProblemsSayWhere) {
    const struct {
        const char* from;
        const char* to;
        const char* problem;
    } cases[] = {
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
