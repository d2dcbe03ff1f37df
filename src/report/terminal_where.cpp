#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "report/loop_timeline.h"
#include "report/numbers.h"
#include "report/screen.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::CauseSlots;
using record::CodePlace;
using record::PlaceKind;
using record::SlotCause;
using record::Where;

/// From which cause to which: the parts of the first level that the model's own tree has, the back end in two.
struct Part {
    const char* name;
    SlotCause first, last;
};
constexpr Part parts[] = {
    {"ret", SlotCause::retiring, SlotCause::retiring},
    {"front", SlotCause::resteer, SlotCause::fetch_bandwidth},
    {"bad", SlotCause::wrong_path, SlotCause::recovery},
    {"core", SlotCause::dependency, SlotCause::l1},
    {"mem", SlotCause::l2, SlotCause::lock},
};

double slots_of_part(const CauseSlots& slots, const Part& part) {
    double sum = 0;
    for (auto cause = static_cast<int>(part.first); cause <= static_cast<int>(part.last); ++cause)
        sum += record::slots_of(slots, static_cast<SlotCause>(cause));
    if (part.first == SlotCause::dependency) sum += record::slots_of(slots, SlotCause::serialization);
    return sum;
}

std::string whole(double share) { return fmt::format("{:.0f}%", 100 * share); }

/// The place comes last: it has what is left of the width.
void show_row(Screen& screen, const std::string& place, const CauseSlots& slots, const std::string& figures,
              double all) {
    std::string text = figures;
    for (const Part& part : parts) text += fmt::format(" {:>5}", whole(all > 0 ? slots_of_part(slots, part) / all : 0));
    constexpr std::size_t least = 20;
    const std::size_t left = std::max(least, screen.width() - std::min(screen.width(), text.size() + 2));
    screen.line(text + "  " + shorten(screen.say(place), left, screen.ascii()));
}

void show_findings(Screen& screen, const Where& where) {
    constexpr std::size_t most = 3;
    constexpr double too_little = 0.05;
    std::size_t shown = 0;
    for (const CodePlace& function : where.functions) {
        if (shown == most || (shown > 0 && function.share < too_little)) break;
        const PlaceFinding finding = finding_of(where, function);
        screen.entry(shown == 0 ? screen.ink(Ink::bold, "Where") + "    " : "", finding.sentence);
        if (!finding.next.empty()) screen.entry("", "next: " + finding.next);
        ++shown;
    }
}

/// Loops that no text tells apart have their addresses, too.
std::vector<std::string> texts_of(const std::vector<const CodePlace*>& places, PlaceKind by) {
    std::vector<std::string> texts;
    std::map<std::string, std::size_t> times;
    for (const CodePlace* place : places) ++times[texts.emplace_back(place_text(*place, by))];
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i]->loop_depth || by != PlaceKind::loop) continue;
        if (times[texts[i]] > 1) texts[i] += fmt::format(" at {:#x}", places[i]->address);
        constexpr unsigned deepest_shown = 10;
        texts[i].insert(0, 2 * std::min(deepest_shown, places[i]->loop_depth - 1), ' ');
    }
    return texts;
}

void show_table(Screen& screen, const Where& where, const WhereView& view) {
    constexpr double nothing = 0.0005;  // would be shown as 0.0%
    const bool loops = view.by == PlaceKind::loop;
    std::vector<const CodePlace*> places;
    if (loops)
        places = loops_in_order(where);
    else
        for (const CodePlace& place : places_of(where, view.by)) places.push_back(&place);
    const auto texts = texts_of(places, view.by);
    const double all = record::sum_of(where.slots);
    const auto figures = [&](const std::string& whole_loop, const std::string& share, const std::string& bounds) {
        return (loops ? fmt::format("{:>6} ", whole_loop) : "") + fmt::format("{:>6} {:>9}", share, bounds);
    };
    std::string heading = figures("whole", "slots", "low..high");
    for (const Part& part : parts) heading += fmt::format(" {:>5}", part.name);
    screen.line(screen.ink(Ink::dim, heading + "  " + text_of(view.by)));
    CauseSlots rest;
    std::size_t left_out = 0, rows = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const CodePlace& place = *places[i];
        const double with_inner = place.loop_depth ? place.share_with_inner : place.share;
        if (rows < view.top && (with_inner >= nothing || rows == 0)) {
            show_row(screen, texts[i], place.slots,
                     figures(place.loop_depth ? percent(with_inner) : "", percent(place.share),
                             fmt::format("{:.0f}..{}", 100 * place.low, whole(place.high))),
                     all);
            ++rows;
            continue;
        }
        ++left_out;
        for (const auto& [cause, slots] : place.slots) rest[cause] += slots;
    }
    for (const auto* further : {view.by == PlaceKind::line ? &where.further_lines : nullptr,
                                view.by == PlaceKind::instruction ? &where.further_instructions : nullptr})
        if (further)
            for (const auto& [cause, slots] : *further) rest[cause] += slots;
    if (!rest.empty())
        show_row(screen, left_out ? fmt::format("{} more", left_out) : "more", rest,
                 figures("", percent(all > 0 ? record::sum_of(rest) / all : 0), ""), all);
    show_row(screen, "all", where.slots, figures("", percent(1), ""), all);
}

void show_annotated(Screen& screen, const Where& where, const WhereView& view) {
    const auto instructions = instructions_of(where, view.annotate);
    screen.line();
    if (instructions.empty()) {
        screen.entry("", "no slot is put down to a function called '" + view.annotate + "'");
        return;
    }
    double sum = 0;
    for (const auto* one : instructions) sum += one->share;
    screen.entry(screen.ink(Ink::bold, "Code") + "     ",
                 fmt::format("{}: {} of slots; instructions that none were put down to are left out", view.annotate,
                             percent(sum)));
    for (const std::string& file : view.newer_sources)
        screen.entry("", file + " was changed after the program was built: its lines may be others by now");
    const CodePlace* before = nullptr;
    for (const auto* one : instructions) {
        const bool new_line = !before || before->file != one->file || before->first_line != one->first_line ||
                              before->function != one->function;
        if (new_line && one->first_line) {
            const auto source = view.sources.find(one->file);
            const bool known = source != view.sources.end() && one->first_line <= source->second.size();
            const std::string file = one->file.substr(one->file.rfind('/') + 1);
            const std::string inlined =
                one->inlined_into.empty() || one->function == view.annotate ? "" : " [" + one->function + "]";
            screen.line(
                screen.ink(Ink::dim, screen.say(fmt::format("{}:{}{}  {}", file, one->first_line, inlined,
                                                            known ? source->second[one->first_line - 1] : ""))));
        }
        before = one;
        std::string text = fmt::format("  {:>6}  {:#x}  {}", percent(one->share), one->address, one->instruction);
        constexpr double worth_a_word = 0.01;
        if (one->share >= worth_a_word) text = pad_right(text, 52) + "  " + words_of_most_slots(one->slots);
        screen.line(screen.say(text));
    }
    for (const record::LoopTimeline& timeline : where.timelines) {
        if (!is_in(timeline, view.annotate)) continue;
        show_timeline(screen, timeline);
        break;
    }
}

}  // namespace

void show_where(Screen& screen, const record::Record& record, const record::Run& run) {
    const Where& where = *run.extra.where;
    const WhereView& view = screen.style().where;
    screen.line();
    show_findings(screen, where);
    screen.line();
    if (view.by == PlaceKind::data)
        show_data(screen, where, view);
    else if (view.by == PlaceKind::loop && where.loops.empty())
        screen.entry("", "this record has no loops: it was written by a version that did not find them");
    else
        show_table(screen, where, view);
    if (record.source.kind == record::SourceKind::perf || !run.extra.beside.empty())
        screen.entry("", "The tree is counted; which code takes the slots, and why, the model says.", 0);
    if (!view.annotate.empty()) show_annotated(screen, where, view);
}

}  // namespace tmaprobe::report
