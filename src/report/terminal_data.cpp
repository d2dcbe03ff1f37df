// What the program waits for in memory, and how its hottest loop goes.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "report/data_words.h"
#include "report/loop_timeline.h"
#include "report/numbers.h"
#include "report/screen.h"

namespace tmaprobe::report {
namespace {

using record::CauseSlots;
using record::DataKind;
using record::DataPlace;
using record::SlotCause;
using record::Where;

struct Column {
    const char* name;
    std::vector<SlotCause> causes;
};

const std::vector<Column>& columns() {
    using enum SlotCause;
    static const std::vector<Column> all{{"l2,l3", {l2, l3}},
                                         {"dram", {dram, line_on_its_way}},
                                         {"tlb", {translation}},
                                         {"store", {forwarding, aliasing, store_buffer}},
                                         {"lock", {lock}}};
    return all;
}

std::string row(const std::string& share, const std::string& bounds, const CauseSlots& slots, double all) {
    std::string text = fmt::format("{:>6} {:>9}", share, bounds);
    for (const Column& column : columns()) {
        double sum = 0;
        for (const SlotCause cause : column.causes) sum += record::slots_of(slots, cause);
        text += fmt::format(" {:>5}", fmt::format("{:.0f}%", all > 0 ? 100 * sum / all : 0));
    }
    return text;
}

/// How such memory gets huge pages; null: it cannot.
const char* how_to_get_huge_pages(DataKind kind) {
    switch (kind) {
        case DataKind::heap:
        case DataKind::anonymous:
        case DataKind::blocks:
            return "MADV_HUGEPAGE, or GLIBC_TUNABLES=glibc.malloc.hugetlb=1 for what malloc gave";
        case DataKind::variable:
            return "allocate it instead, in memory with MADV_HUGEPAGE";
        case DataKind::file:
        case DataKind::stack:
        case DataKind::unknown:
            break;
    }
    return nullptr;
}

void show_gain(Screen& screen, const Where& where) {
    constexpr double worth_saying = 0.01;
    double sum = 0;
    std::vector<std::string> gains;
    std::set<std::string_view> ways;
    for (const DataPlace& place : where.data) {
        const char* const way = how_to_get_huge_pages(place.kind);
        if (!way) continue;
        sum += place.small_page_walks;
        if (place.small_page_walks < worth_saying) continue;
        gains.push_back(data_text(place) + " " + percent(place.small_page_walks));
        ways.insert(way);
    }
    screen.line();
    if (gains.empty()) {
        screen.entry("", fmt::format("huge pages could save {} of slots at most", percent(sum)), 0);
        return;
    }
    std::string text = fmt::format("huge pages could save {} of slots at most: ", percent(sum));
    for (std::size_t i = 0; i < gains.size(); ++i) text += (i ? "; " : "") + gains[i];
    screen.entry("", text, 0);
    for (const std::string_view way : ways) screen.entry("", "next: " + std::string(way), 0);
}

/// Who allocated what the rows name, all the way from main; or how to be told.
void show_blocks(Screen& screen, const Where& where, const WhereView& view) {
    constexpr double worth_saying = 0.01;
    bool first = true;
    double not_told = 0;
    for (std::size_t i = 0; i < where.data.size(); ++i) {
        const DataPlace& place = where.data[i];
        if (place.kind == DataKind::heap || place.kind == DataKind::anonymous) not_told += place.share;
        if (place.kind != DataKind::blocks || place.share < worth_saying || i >= view.top) continue;
        if (std::exchange(first, false)) screen.line();
        screen.entry("", percent(place.share) + " waits for " + blocks_text(place), 0);
    }
    if (where.blocks_told_apart || not_told < worth_saying) return;
    screen.line();
    screen.entry("",
                 "next: --repeatable, which follows a command from its start, tells blocks of the heap apart by the "
                 "calls that allocated them",
                 0);
}

}  // namespace

void show_data(Screen& screen, const Where& where, const WhereView& view) {
    const double all = record::sum_of(where.slots);
    if (where.data.empty()) {
        screen.entry("", record::sum_of(where.data_slots) > 0 || where.slots.empty()
                             ? "this record does not tell data apart"
                             : "no slot is lost to a wait for memory, beyond the first-level cache");
        return;
    }
    std::string heading = fmt::format("{:>6} {:>9}", "slots", "low..high");
    for (const Column& column : columns()) heading += fmt::format(" {:>5}", column.name);
    screen.line(screen.ink(Ink::dim, heading + "  data"));
    const auto show = [&](const std::string& figures, const std::string& text, const std::string& code) {
        constexpr std::size_t least = 20;
        const std::size_t left = std::max(least, screen.width() - std::min(screen.width(), figures.size() + 2));
        // Who waits for it stands there if there is room.
        const std::string whole = screen.say(text + code);
        screen.line(figures + "  " +
                    (width_of(whole) <= left ? whole : shorten(screen.say(text), left, screen.ascii())));
    };
    constexpr double nothing = 0.0005;  // would be shown as 0.0%
    CauseSlots rest;
    std::size_t rows = 0, left_out = 0;
    for (const DataPlace& place : where.data) {
        if (rows < view.top && (place.share >= nothing || rows == 0)) {
            show(row(percent(place.share), fmt::format("{:.0f}..{:.0f}%", 100 * place.low, 100 * place.high),
                     place.slots, all),
                 data_text(place), code_text(place));
            ++rows;
            continue;
        }
        ++left_out;
        for (const auto& [cause, slots] : place.slots) rest[cause] += slots;
    }
    if (left_out)
        show(row(percent(all > 0 ? record::sum_of(rest) / all : 0), "", rest, all), fmt::format("{} more", left_out),
             "");
    show(row(percent(all > 0 ? record::sum_of(where.data_slots) / all : 0), "", where.data_slots, all),
         "all waits for memory", "");
    show_blocks(screen, where, view);
    show_gain(screen, where);
}

void show_timeline(Screen& screen, const record::LoopTimeline& timeline) {
    screen.line();
    screen.entry(screen.ink(Ink::bold, "Loop") + "     ", heading_of(timeline));
    const std::string chain = chain_text(timeline);
    if (!chain.empty()) screen.entry("", "chain: " + chain);
    screen.entry("", "cycles of ports: " + ports_text(timeline));
    screen.line();
    constexpr std::size_t text_width = 36, least = 20, margin = 3;
    const std::size_t left = screen.width() > text_width + margin ? screen.width() - text_width - margin : least;
    const TimelinePicture picture = picture_of(timeline, std::max(least, left));
    std::set<std::uint64_t> in_chain;
    for (const record::ChainLink& link : timeline.chain) in_chain.insert(link.step);
    screen.line(screen.ink(Ink::dim, pad_right("  " + scale_of(picture), text_width) + picture.ruler));
    for (std::size_t i = 0; i < timeline.steps.size(); ++i) {
        const auto& step = timeline.steps[i];
        const std::string text =
            fmt::format("{} {:#x}  {}", in_chain.contains(i) ? "*" : " ", step.address, step.instruction);
        screen.line(pad_right(shorten(screen.say(text), text_width - 1, screen.ascii()), text_width) + picture.rows[i]);
    }
    screen.line(
        screen.ink(Ink::dim, "  D renamed, = waits, e executes, E done, - waits for others to retire, R retires" +
                                 std::string(in_chain.empty() ? "" : "; * chain")));
}

}  // namespace tmaprobe::report
