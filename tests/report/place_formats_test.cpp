#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/protobuf.h"
#include "report/writers.h"

namespace tmaprobe::report {
namespace {

using record::CodePlace;
using testing::HasSubstr;
using testing::Not;

/// Two lines and two instructions of a function, one of them inlined; slots that are no whole numbers.
std::vector<record::Record> with_places() {
    record::Where where;
    where.slot_width = 4;
    where.slots = {{"retiring", 10.5}, {"dram", 20.25}};
    const auto place = [](const std::string& function, std::uint64_t line, std::uint64_t address,
                          record::CauseSlots slots) {
        CodePlace place;
        place.module = "/usr/bin/reader";
        place.function = function;
        place.file = "/src/json.c";
        place.first_line = place.last_line = line;
        place.address = address;
        place.slots = std::move(slots);
        return place;
    };
    where.lines = {place("parse", 7, 0x1000, {{"retiring", 4.25}, {"dram", 20.25}}),
                   place("is;\x1b[31mblank", 3, 0x1000, {{"retiring", 5.75}})};
    where.lines[1].inlined_into = "parse";
    where.further_lines = {{"retiring", 0.5}};
    where.instructions = where.lines;
    where.further_instructions = where.further_lines;
    where.instructions[1].address = 0x1004;
    record::Record record;
    record.runs.emplace_back();
    record.runs.front().extra.where = where;
    return {record};
}

std::string written(const std::string& format) {
    const auto text = render(with_places(), format);
    EXPECT_TRUE(text) << text.error().what;
    return text.value_or("");
}

TEST(PlaceFormats, WantRecordsThatKnowPlaces) {
    for (const char* format : {"folded", "speedscope", "callgrind", "pprof"}) {
        const auto text = render({record::Record{}}, format);
        ASSERT_FALSE(text) << format;
        EXPECT_EQ(text.error().code, ErrorCode::bad_input);
        EXPECT_THAT(text.error().hint, HasSubstr("tmaprobe where"));
        EXPECT_THAT(written(format), Not(HasSubstr("\x1b["))) << format;
    }
}

TEST(PlaceFormats, FoldedStacksAddUpToAllSlotsRoundedOnce) {
    std::istringstream lines(written("folded"));
    std::uint64_t sum = 0;
    std::vector<std::string> stacks;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t blank = line.rfind(' ');
        sum += std::stoull(line.substr(blank + 1));
        stacks.push_back(line.substr(0, blank));
    }
    EXPECT_EQ(sum, 31u) << "30.75";
    EXPECT_THAT(stacks, testing::Contains("reader;parse;json.c:7;dram"));
    EXPECT_THAT(stacks, testing::Contains(testing::MatchesRegex("reader;parse;is:.*blank;json.c:3;retiring")));
}

/// main calls parse, which calls itself and a function without a name.
std::vector<record::Record> with_calls() {
    auto records = with_places();
    const auto call = [](std::optional<std::uint64_t> caller, const std::string& function, std::uint64_t line,
                         record::CauseSlots slots) {
        record::CallPlace place{caller, "/usr/bin/reader", function, line ? "/src/json.c" : "", line, 0, {}, 0, 0, 0};
        place.slots = std::move(slots);
        return place;
    };
    record::Where& where = *records[0].runs[0].extra.where;
    where.calls = {call({}, "main", 0, {}), call(0, "parse", 0, {}), call(1, "parse", 0, {}),
                   call(2, "parse", 7, {{"retiring", 10.5}}), call(1, "", 0, {{"dram", 20.25}})};
    where.calls.back().address = 0x2000;
    return records;
}

TEST(PlaceFormats, StacksHaveTheCallers) {
    const auto text = render(with_calls(), "folded");
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, HasSubstr("main;parse;parse;json.c:7;retiring 11\n"));
    EXPECT_THAT(*text, HasSubstr("main;parse;reader+0x2000;dram 20\n"));
    const auto profile = render(with_calls(), "pprof");
    ASSERT_TRUE(profile);
    EXPECT_THAT(*profile, HasSubstr("reader+0x2000"));
    EXPECT_THAT(*profile, Not(HasSubstr("further places")));
}

TEST(PlaceFormats, SpeedscopeHasTheSlotsAsTheyAre) {
    const auto page = nlohmann::json::parse(written("speedscope"));
    EXPECT_EQ(page["$schema"], "https://www.speedscope.app/file-format-schema.json");
    const auto& profile = page["profiles"][0];
    EXPECT_EQ(profile["type"], "sampled");
    EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
    double sum = 0;
    for (const double weight : profile["weights"]) sum += weight;
    EXPECT_DOUBLE_EQ(sum, 30.75);
    EXPECT_DOUBLE_EQ(profile["endValue"], 30.75);
    for (const auto& sample : profile["samples"])
        for (const std::size_t frame : sample) EXPECT_LT(frame, page["shared"]["frames"].size());
}

TEST(PlaceFormats, CallgrindCostsAreOfInstructionsAndLines) {
    const std::string text = written("callgrind");
    EXPECT_THAT(text, HasSubstr("positions: instr line\nevents: slots dram retiring\n"));
    EXPECT_THAT(text, HasSubstr("ob=/usr/bin/reader\nfl=/src/json.c\nfn=parse\n0x1000 7 24 20 4\n0x1004 3 6 0 6\n"));
    EXPECT_THAT(text, HasSubstr("totals: 31 20 11\n"));
    EXPECT_THAT(text, Not(HasSubstr("calls=")));
}

TEST(PlaceFormats, CallgrindCallsHaveWhatTheyTakeWithAllThatIsCalled) {
    const auto text = render(with_calls(), "callgrind");
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, HasSubstr("fl=???\nfn=main\ncob=/usr/bin/reader\ncfi=/src/json.c\ncfn=parse\ncalls=0 0x0 0\n"
                                 "0x0 0 31 20 11\n"));
    EXPECT_THAT(*text, HasSubstr("0x1000 7 24 20 4\ncob=/usr/bin/reader\ncfi=???\ncfn=reader+0x2000\ncalls=0 0x0 0\n"
                                 "0x0 0 20 20 0\n"));
    EXPECT_THAT(*text, Not(HasSubstr("cfn=main")));
    EXPECT_THAT(*text, HasSubstr("totals: 31 20 11\n"));
}

TEST(PlaceFormats, CallgrindCodeWithoutNamesIsPartOfTheFunctionThatItIsIn) {
    auto records = with_places();
    record::Where& where = *records[0].runs[0].extra.where;
    for (record::CodePlace& one : where.instructions) one.function = one.inlined_into = "";
    where.functions.resize(1);
    where.functions[0].module = "/usr/bin/reader";
    where.functions[0].address = 0xff0;
    const auto text = render(records, "callgrind");
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, HasSubstr("fn=reader+0xff0\n0x1000 7 24 20 4\n0x1004 3 6 0 6\n"));
}

TEST(PlaceFormats, PprofIsOneMessageWithItsStrings) {
    const std::string bytes = written("pprof");
    for (const char* text : {"slots", "dram", "retiring", "/usr/bin/reader", "/src/json.c", "parse", "further places"})
        EXPECT_THAT(bytes, HasSubstr(text));
}

TEST(Protobuf, IsAsItsEncodingSays) {
    EXPECT_EQ(Protobuf().number(1, 150).bytes(), std::string("\x08\x96\x01"));
    EXPECT_EQ(Protobuf().bytes(2, "testing").bytes(), std::string("\x12\x07testing"));
    EXPECT_EQ(Protobuf().packed(6, {3, 270, 86942}).bytes(), std::string("\x32\x06\x03\x8e\x02\x9e\xa7\x05"));
    EXPECT_EQ(Protobuf().number(3, 0).bytes(), "");
    EXPECT_EQ(Protobuf().number(1, ~std::uint64_t{0}).bytes().size(), 11u);
}

}  // namespace
}  // namespace tmaprobe::report
