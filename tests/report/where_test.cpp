#include "report/where.h"

#include <gmock/gmock.h>

#include "report/data_words.h"
#include "report/formats.h"
#include "report/terminal.h"
#include "report/writers.h"

namespace tmaprobe::report {
namespace {

using record::CodePlace;
using testing::HasSubstr;
using testing::Not;

CodePlace place(const std::string& function, std::uint64_t first, std::uint64_t last, record::CauseSlots slots) {
    CodePlace place{"/usr/bin/reader", function, {}, "/src/json.c", first, last, 0x1000, {}, slots, 0, 0, 0};
    place.share = record::sum_of(slots) / 1000;
    place.low = place.share - 0.01;
    place.high = place.share + 0.02;
    return place;
}

record::Where parsed() {
    record::Where where;
    where.slot_width = 6;
    where.slots = {{"retiring", 300}, {"wrong_path", 350}, {"resteer", 150}, {"dram", 200}};
    where.functions = {place("parse_value", 210, 233, {{"retiring", 100}, {"wrong_path", 300}, {"resteer", 150}}),
                       place("hash(char const*)", 12, 30, {{"retiring", 50}, {"wrong_path", 50}, {"dram", 200}}),
                       place("copy", 5, 5, {{"retiring", 150}})};
    where.lines = {place("parse_value", 217, 217, {{"wrong_path", 300}, {"resteer", 100}}),
                   place("parse_value", 220, 220, {{"retiring", 100}, {"resteer", 50}}),
                   place("hash(char const*)", 20, 20, {{"retiring", 50}, {"wrong_path", 50}, {"dram", 200}}),
                   place("copy", 5, 5, {{"retiring", 150}})};
    where.instructions = where.lines;
    for (auto& one : where.instructions) one.instruction = "nop";
    where.instructions[0].address = 0x1234;
    where.modules = {place("", 0, 0, where.slots)};
    where.modules[0].file.clear();
    return where;
}

TEST(WhereWords, SayTheCauseItsLineAndTheNextStep) {
    const auto where = parsed();
    const auto branches = finding_of(where, where.functions[0]);
    EXPECT_EQ(branches.sentence,
              "55.0% of slots: parse_value (json.c:210-233), bound by mispredicted branches at line 217: 45.0% of all "
              "slots");
    EXPECT_THAT(branches.next, HasSubstr("branch"));
    EXPECT_THAT(finding_of(where, where.functions[1]).sentence,
                HasSubstr("bound by loads from memory at line 20: 20.0%"));
    EXPECT_THAT(finding_of(where, where.functions[2]).sentence, HasSubstr("100.0% of them doing its work"));
}

TEST(WhereWords, WhatSamplesMetMoreOftenThanTheModelIsSaid) {
    auto where = parsed();
    EXPECT_TRUE(missed_by_the_model(where).empty());
    EXPECT_EQ(words_of_samples(where), "");
    where.functions[0].measured = {0.5, 0.45, 0.55};
    where.functions[2].measured = {0.3, 0.26, 0.35};
    where.functions.push_back(place("unseen", 90, 95, {}));
    where.functions.back().low = where.functions.back().high = 0;
    where.functions.back().measured = {0.2, 0.15, 0.24};
    where.samples = {"task-clock", 0, 4e6, 1234, 7, 0, 2};
    const auto missed = missed_by_the_model(where);
    ASSERT_EQ(missed.size(), 2u) << "the first has as many slots";
    EXPECT_THAT(missed[0], HasSubstr("30.0% of samples (26..35%) are in copy"));
    EXPECT_THAT(missed[1], HasSubstr("(15..24%) are in unseen (json.c:90-95), to which the model puts 0.0% of slots"));
    const std::string words = words_of_samples(where);
    EXPECT_THAT(words, HasSubstr("1234 samples"));
    EXPECT_THAT(words, HasSubstr("measured by the kernel's timer: share"));
    EXPECT_THAT(words, HasSubstr("up to 4 ms of a thread's processor time apart"));
    EXPECT_THAT(words, HasSubstr("7 were lost"));
    EXPECT_THAT(words, HasSubstr("2 threads were not sampled"));
    where.samples = {"cycles", 2, 16e6, 10, 0, 0, 0};
    EXPECT_THAT(words_of_samples(where), HasSubstr("measured by cycles, precise: share of 10 samples"));
    EXPECT_THAT(words_of_samples(where), HasSubstr("up to 16 million cycles of a thread apart"));
    EXPECT_THAT(words_of_samples(where), Not(HasSubstr("late")));
    where.samples->precision = 1;
    EXPECT_THAT(words_of_samples(where), HasSubstr("shown one late"));
    where.samples->precision = 0;
    EXPECT_THAT(words_of_samples(where), HasSubstr("measured by cycles: share"));
    EXPECT_THAT(words_of_samples(where), HasSubstr("shown some late"));
}

TEST(WhereWords, OfAStrippedProgramAreAddresses) {
    CodePlace place;
    place.module = "/usr/bin/reader";
    place.address = 0x1f30;
    EXPECT_EQ(place_text(place, record::PlaceKind::function), "reader+0x1f30");
    place.function = "main";
    EXPECT_EQ(place_text(place, record::PlaceKind::function), "main (reader)");
    place.module.clear();
    place.function.clear();
    place.address = 0;
    EXPECT_EQ(place_text(place, record::PlaceKind::function), "code made while it ran");
}

CodePlace loop(std::uint64_t first, std::uint64_t last, double share, unsigned depth, double with_inner) {
    CodePlace loop = place("parse_value", first, last, {{"retiring", 1000 * share}});
    loop.loop_depth = depth;
    loop.share_with_inner = with_inner;
    return loop;
}

record::Where nested() {
    record::Where where = parsed();
    where.loops = {loop(12, 14, 0.5, 2, 0.5), place("main", 1, 2, {{"dram", 300}}), loop(30, 31, 0.15, 1, 0.15),
                   loop(10, 20, 0.05, 1, 0.55)};
    where.loops[0].inside = 3;
    return where;
}

TEST(WhereLoops, ComeBeforeThoseInThem) {
    const auto where = nested();
    std::vector<std::size_t> order;
    for (const auto* place : loops_in_order(where))
        order.push_back(static_cast<std::size_t>(place - where.loops.data()));
    EXPECT_THAT(order, testing::ElementsAre(3, 0, 1, 2));
}

TEST(WhereLoops, OfARecordThatSaysNonsenseAreAllThere) {
    auto where = nested();
    where.loops[3].inside = 0;  // each in the other
    where.loops[2].inside = 77;
    EXPECT_EQ(loops_in_order(where).size(), 4u);
}

TEST(WhereWords, ParametersAreLeftOut) {
    const auto text = [](const std::string& function) {
        return place_text(place(function, 1, 1, {{"retiring", 1}}), record::PlaceKind::function);
    };
    EXPECT_EQ(text("a::sort<f(int)>(int*, g(*)(int)) const"), "a::sort<f(int)> (json.c:1)");
    EXPECT_EQ(text("(anonymous namespace)::f()"), "(anonymous namespace)::f (json.c:1)");
    EXPECT_EQ(text("T::operator()() const"), "T::operator() (json.c:1)");
    EXPECT_EQ(text("main"), "main (json.c:1)");
}

TEST(WhereWords, InlinedFunctionsAreShownAsSuch) {
    auto inlined = place("twice", 2, 2, {{"retiring", 1}});
    inlined.inlined_into = "main";
    EXPECT_EQ(place_text(inlined, record::PlaceKind::function), "twice (json.c:2), inlined into main");
}

TEST(Annotated, AFunctionIsFoundWithoutItsParameters) {
    auto where = parsed();
    EXPECT_EQ(instructions_of(where, "hash").size(), 1u);
    EXPECT_EQ(instructions_of(where, "has").size(), 0u);
    where.instructions[0].function = "has.constprop.0";
    EXPECT_EQ(instructions_of(where, "has").size(), 1u);
    where.instructions[3].inlined_into = "hash(char const*)";
    EXPECT_EQ(instructions_of(where, "hash").size(), 2u);
}

TEST(Annotated, AFunctionIsFoundWithoutItsNamespaces) {
    EXPECT_TRUE(is_called("mine::Table::find(int) const", "find"));
    EXPECT_TRUE(is_called("mine::Table::find(int) const", "Table::find"));
    EXPECT_TRUE(is_called("find<int>(int)", "find"));
    EXPECT_FALSE(is_called("mine::Table::refind(int)", "find"));
    EXPECT_FALSE(is_called("mine::find_all(int)", "find"));
    EXPECT_FALSE(is_called("calls(mine::find(int))", "find")) << "what it is called with";
    EXPECT_FALSE(is_called("anything", ""));
}

record::Record record_of(record::Where where) {
    record::Record record;
    record.runs.emplace_back();
    record.runs.front().kernel = "command";
    record.runs.front().extra.where = std::move(where);
    return record;
}

TEST(WhereTable, HasTheRestAndTheSum) {
    TerminalStyle style;
    style.width = 110;
    style.where.top = 1;
    const std::string text = render_terminal(record_of(parsed()), style);
    EXPECT_THAT(text,
                testing::ContainsRegex(" 55.0% +54..57% +10% +15% +30% +0% +0%  parse_value \\(json.c:210-233\\)"));
    EXPECT_THAT(text, testing::ContainsRegex(" 45.0% +20% +0% +5% +0% +20%  2 more"));
    EXPECT_THAT(text, testing::ContainsRegex("100.0% +30% +15% +35% +0% +20%  all"));
    EXPECT_THAT(text, Not(HasSubstr("the model says"))) << "the tree is not counted";
}

TEST(WhereLoops, AreShownInEachOtherWithTheWholeBesideTheirOwn) {
    TerminalStyle style;
    style.width = 110;
    style.where.by = record::PlaceKind::loop;
    record::Where where = nested();
    const std::string text = render_terminal(record_of(where), style);
    EXPECT_THAT(text, HasSubstr(" whole  slots low..high   ret front   bad  core   mem  loop"));
    EXPECT_THAT(text, testing::ContainsRegex("\n 55.0% +5.0% .*  json.c:10-20 parse_value\n"));
    EXPECT_THAT(text, testing::ContainsRegex("\n 50.0% +50.0% .*    json.c:12-14 parse_value\n"));
    EXPECT_THAT(text, testing::ContainsRegex("\n +30.0% .*  main, in no loop\n"));
    where.loops[0].first_line = 10;
    where.loops[0].last_line = 20;
    EXPECT_THAT(render_terminal(record_of(where), style), HasSubstr("    json.c:10-20 parse_value at 0x1000\n"));
    where.loops.clear();
    EXPECT_THAT(render_terminal(record_of(where), style), HasSubstr("this record has no loops"));
}

TEST(Annotated, SourceStandsAboveItsInstructions) {
    TerminalStyle style;
    style.width = 110;
    style.where.annotate = "parse_value";
    style.where.sources["/src/json.c"] = std::vector<std::string>(240, "    if (c == '\"') quote();");
    const std::string text = render_terminal(record_of(parsed()), style);
    EXPECT_THAT(text, Not(HasSubstr("was changed after")));
    EXPECT_THAT(text, HasSubstr("json.c:217      if (c == '\"') quote();"));
    EXPECT_THAT(text, testing::ContainsRegex("40.0%  0x1234  nop +mispredicted branches"));
    style.where.newer_sources = {"/src/json.c"};
    EXPECT_THAT(render_terminal(record_of(parsed()), style), HasSubstr("/src/json.c was changed after the program"));
}

record::Record with_data() {
    record::Record record;
    record.runs.emplace_back();
    auto& where = record.runs.front().extra.where.emplace(parsed());
    record::DataPlace heap, table;
    heap.kind = record::DataKind::heap;
    heap.bytes = 64 << 20;
    heap.slots = {{"dram", 100}, {"translation", 40}};
    heap.share = heap.low = heap.high = 0.14;
    heap.small_page_walks = 0.04;
    heap.code_file = "/src/json.c";
    heap.code_line = 20;
    table.kind = record::DataKind::variable;
    table.name = "<table>";
    table.path = "/bin/prog";
    table.slots = {{"dram", 60}};
    table.share = table.low = table.high = 0.06;
    where.data = {heap, table};
    where.data_slots = {{"dram", 160}, {"translation", 40}};
    record::LoopTimeline loop;
    loop.function = "parse_value";
    loop.steps.resize(1);
    loop.steps[0].function = "parse_value";
    loop.steps[0].instruction = "nop";
    loop.steps[0].retired = 2;
    where.timelines = {loop};
    return record;
}

TEST(WhereWords, OfDataSayWhatWaitsAndWhatHugePagesCouldSave) {
    TerminalStyle style;
    style.width = 100;
    style.where.by = record::PlaceKind::data;
    const std::string text = render_terminal(with_data(), style);
    EXPECT_THAT(text, HasSubstr(" 14.0%   14..14%    0%   10%    4%    0%    0%  heap, 64M, at json.c:20"));
    EXPECT_THAT(text, HasSubstr("<table> (prog)"));
    EXPECT_THAT(text, HasSubstr("20.0%              0%   16%    4%    0%    0%  all waits for memory"));
    EXPECT_THAT(text, HasSubstr("huge pages could save 4.0% of slots at most: heap, 64M 4.0%"));
    EXPECT_THAT(text, HasSubstr("MADV_HUGEPAGE"));
}

TEST(WhereWords, OfHeapsThatWereNotToldApartSayHowTheyAre) {
    TerminalStyle style;
    style.where.by = record::PlaceKind::data;
    auto record = with_data();
    EXPECT_THAT(render_terminal(record, style), HasSubstr("next: --repeatable, which follows a command"));
    record.runs[0].extra.where->blocks_told_apart = true;
    EXPECT_THAT(render_terminal(record, style), Not(HasSubstr("next: --repeatable")));
}

record::Record with_blocks() {
    auto record = with_data();
    auto& where = *record.runs[0].extra.where;
    where.blocks_told_apart = true;
    auto& blocks = where.data[0];
    blocks.kind = record::DataKind::blocks;
    blocks.blocks = 3;
    blocks.bytes = 48 << 20;
    blocks.allocated_by = {
        {"/bin/prog", "std::vector<int, std::allocator<int> >::push_back(int const&)", "/usr/include/v.h", 7, 0},
        {"/bin/prog", "parse_value(char const*)", "/src/json.c", 217, 0},
        {"/bin/prog", "", "", 0, 0x1230},
        {"/bin/prog", "main", "/src/json.c", 300, 0}};
    return record;
}

TEST(WhereWords, OfBlocksNameTheCallsThatAllocatedThem) {
    TerminalStyle style;
    style.width = 120;
    style.where.by = record::PlaceKind::data;
    const std::string text = render_terminal(with_blocks(), style);
    EXPECT_THAT(text, HasSubstr("blocks of parse_value (json.c:217), 48M, at json.c:20"));
    EXPECT_THAT(text, HasSubstr("14.0% waits for 48M in 3 blocks from parse_value (json.c:217) by "
                                "std::vector::push_back < prog+0x1230 < main"));
    EXPECT_THAT(where_sections({with_blocks()}, {}), HasSubstr("48M in 3 blocks from parse_value (json.c:217)"));
    WhereView view;
    view.by = record::PlaceKind::data;
    const auto folded = render({with_blocks()}, "folded", view);
    ASSERT_TRUE(folded);
    EXPECT_THAT(*folded, HasSubstr("main (json.c:300);prog+0x1230;parse_value (json.c:217);std::vector::push_back "
                                   "(v.h:7);blocks;dram 100\n"));
}

TEST(WhereWords, OfManyCallsNameTheFirstAndTheLast) {
    record::DataPlace blocks;
    blocks.kind = record::DataKind::blocks;
    blocks.blocks = 1;
    blocks.bytes = 9000000;
    for (char name = 'a'; name < 'j'; ++name) blocks.allocated_by.push_back({"/bin/prog", {name}, "", 0, 0});
    EXPECT_EQ(blocks_text(blocks), "8.6M in 1 block from a < b < c < d < e < 3 more < i");
    blocks.allocated_by.clear();
    EXPECT_EQ(data_text(blocks), "block of calls that are not known, 8.6M");
}

TEST(WhereWords, NameFunctionsWithoutTheirArguments) {
    EXPECT_EQ(without_arguments("f"), "f");
    EXPECT_EQ(without_arguments("ns::f<int>(std::vector<int> const&) const::inner"), "ns::f::inner");
    EXPECT_EQ(without_arguments("std::unique_ptr<Disc> std::make_unique<Disc, int&>(int&)"), "std::make_unique");
    EXPECT_EQ(without_arguments("char* std::operator+<char>(char const*)"), "std::operator+");
    EXPECT_EQ(without_arguments("S::operator<<(int)"), "S::operator<<");
    EXPECT_EQ(without_arguments("S::operator unsigned long() const"), "S::operator unsigned long");
    EXPECT_EQ(without_arguments("S::operator()(int)"), "S::operator()");
    EXPECT_EQ(without_arguments("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
    EXPECT_EQ(without_arguments("broken<"), "broken");
}

TEST(WhereWords, OfARecordThatDoesNotTellDataApartSayThat) {
    TerminalStyle style;
    style.where.by = record::PlaceKind::data;
    auto record = with_data();
    record.runs[0].extra.where->data.clear();
    EXPECT_THAT(render_terminal(record, style), HasSubstr("does not tell data apart"));
}

TEST(WherePage, HasAFlameGraphTheCodeAndTheLoop) {
    WhereView view;
    view.sources["/src/json.c"] = {"int first;"};
    const std::string page = where_sections({with_data()}, view);
    EXPECT_THAT(page, HasSubstr("<svg class=\"flame\""));
    EXPECT_THAT(page, HasSubstr("<h3>Code of parse_value</h3>"));
    EXPECT_THAT(page, HasSubstr("<h3>Loop in parse_value"));
    EXPECT_THAT(page, HasSubstr("D-R"));
    EXPECT_EQ(where_sections({record::Record()}, view), "");
}

}  // namespace
}  // namespace tmaprobe::report
