#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "report/loop_timeline.h"
#include "report/numbers.h"
#include "report/screen.h"
#include "report/what_if.h"
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
    for (const std::string& sentence : missed_by_the_model(where)) screen.entry("", sentence);
}

/// Where its share of the samples lies; empty: none is there.
std::string measured_text(const CodePlace& place) {
    if (!place.measured) return {};
    return fmt::format("{:.0f}..{}", 100 * place.measured->low, whole(place.measured->high));
}

/// What a place is worth to a reader: what the model missed is not to be left out.
double weight_of(const CodePlace& place) { return std::max(place.share, place.measured ? place.measured->share : 0); }

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
    if (!loops)
        std::ranges::stable_sort(places, std::greater{}, [](const CodePlace* place) { return weight_of(*place); });
    const auto texts = texts_of(places, view.by);
    const double all = record::sum_of(where.slots);
    const auto figures = [&](const std::string& whole_loop, const std::string& share, const std::string& bounds,
                             const std::string& measured = "") {
        return (loops ? fmt::format("{:>6} ", whole_loop) : "") + fmt::format("{:>6} {:>9}", share, bounds) +
               (where.samples ? fmt::format(" {:>8}", measured) : "");
    };
    std::string heading = figures("whole", "slots", "low..high", "measured");
    for (const Part& part : parts) heading += fmt::format(" {:>5}", part.name);
    screen.line(screen.ink(Ink::dim, heading + "  " + text_of(view.by)));
    CauseSlots rest;
    std::size_t left_out = 0, rows = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const CodePlace& place = *places[i];
        const double with_inner = place.loop_depth ? place.share_with_inner : weight_of(place);
        if (rows < view.top && (with_inner >= nothing || rows == 0)) {
            show_row(screen, texts[i], place.slots,
                     figures(place.loop_depth ? percent(with_inner) : "", percent(place.share),
                             fmt::format("{:.0f}..{}", 100 * place.low, whole(place.high)), measured_text(place)),
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
    show_row(screen, "all", where.slots, figures("", percent(1), "", where.samples ? "100%" : ""), all);
    if (where.samples) screen.entry("", words_of_samples(where), 0);
}

/// What single lines would win, where that was asked.
void show_gains(Screen& screen, const Where& where) {
    const auto lines = lines_with_gains(where);
    if (lines.empty()) return;
    screen.line();
    screen.line(screen.ink(Ink::dim, "times   low..high  as fast if this line took its slots and nothing more"));
    for (const CodePlace* line : lines)
        screen.line(fmt::format("{:>5}  {:>10}  {}", times_text(line->if_it_never_waited->value),
                                bounds_text(*line->if_it_never_waited),
                                screen.say(place_text(*line, PlaceKind::line))));
}

/// Functions in their callers, as rows: what only calls one other stands in one row with it.
class PathRows {
  public:
    struct Row {
        std::vector<std::size_t> functions;  ///< of Where::calls, each called by the one before it
        std::size_t depth = 0;
        CauseSlots slots;  ///< with what is called from here
        double own = 0;    ///< of the last function itself
    };

    explicit PathRows(const Where& where)
        : all_(record::sum_of(where.slots)), slots_(where.calls.size()), callees_(where.calls.size()) {
        const auto& calls = where.calls;
        for (std::size_t i = calls.size(); i-- > 0;) {
            slots_[i].own += record::sum_of(calls[i].slots);
            add(slots_[i].with_callees, calls[i].slots);
            if (!calls[i].caller || *calls[i].caller >= i) continue;
            Slots& caller = slots_[*calls[i].caller];
            add(caller.with_callees, slots_[i].with_callees);
            if (calls[i].line) caller.own += slots_[i].own;
        }
        std::vector<std::size_t> outermost;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i].line) continue;
            if (calls[i].caller && *calls[i].caller < i)
                callees_[*calls[i].caller].push_back(i);
            else
                outermost.push_back(i);
        }
        for (const std::size_t i : outermost) list(i, 0);
    }

    const std::vector<Row>& rows() const { return rows_; }

  private:
    struct Slots {
        double own = 0;
        CauseSlots with_callees;
    };

    static void add(CauseSlots& sum, const CauseSlots& more) {
        for (const auto& [cause, slots] : more) sum[cause] += slots;
    }

    double with_callees(std::size_t function) const { return record::sum_of(slots_[function].with_callees); }

    void list(std::size_t function, std::size_t depth) {
        constexpr double of_its_own = 0.001, nearly_all = 0.98;
        Row row{{function}, depth, slots_[function].with_callees, 0};
        while (slots_[function].own < of_its_own * all_ && !callees_[function].empty()) {
            const std::size_t first = callees_[function].front();
            if (with_callees(first) < nearly_all * with_callees(function)) break;
            row.functions.push_back(function = first);
        }
        row.own = slots_[function].own;
        rows_.push_back(row);
        for (const std::size_t callee : callees_[function]) list(callee, depth + 1);
    }

    double all_;
    std::vector<Slots> slots_;
    std::vector<std::vector<std::size_t>> callees_;
    std::vector<Row> rows_;
};

std::string path_text(const Where& where, const PathRows::Row& row) {
    constexpr std::size_t deepest_shown = 20, most_names = 3;
    std::string text(std::min(row.depth, deepest_shown), ' ');
    for (std::size_t i = 0; i < row.functions.size(); ++i) {
        if (row.functions.size() > most_names && i > 0 && i + 2 < row.functions.size()) {
            if (i == 1) text += " > ...";
            continue;
        }
        const record::CallPlace& function = where.calls[row.functions[i]];
        CodePlace place;
        place.module = function.module;
        place.address = function.address;
        if (i > 0) text += " > ";
        text += function.function.empty() ? place_text(place, PlaceKind::function) : function.function;
    }
    return text;
}

void show_paths(Screen& screen, const Where& where, const WhereView& view) {
    const PathRows paths(where);
    std::vector<const PathRows::Row*> shown;
    for (const auto& row : paths.rows()) shown.push_back(&row);
    std::ranges::stable_sort(shown, std::greater{}, [](const auto* row) { return record::sum_of(row->slots); });
    const std::size_t left_out = shown.size() - std::min(shown.size(), view.top);
    shown.resize(shown.size() - left_out);
    std::ranges::sort(shown);  // as they call one another
    const double all = record::sum_of(where.slots);
    const auto share = [&](double slots) { return percent(all > 0 ? slots / all : 0); };
    // An older version's paths have no bounds.
    const auto bounds = [&](const PathRows::Row& row) {
        const record::CallPlace& place = where.calls[row.functions.front()];
        return place.high > 0 ? fmt::format("{:.0f}..{}", 100 * place.low, whole(place.high)) : "";
    };
    std::string heading = fmt::format("{:>6} {:>9} {:>6}", "whole", "low..high", "slots");
    for (const Part& part : parts) heading += fmt::format(" {:>5}", part.name);
    screen.line(screen.ink(Ink::dim, heading + "  called"));
    for (const auto* row : shown)
        show_row(screen, path_text(where, *row), row->slots,
                 fmt::format("{:>6} {:>9} {:>6}", share(record::sum_of(row->slots)), bounds(*row), share(row->own)),
                 all);
    if (left_out)
        screen.line(screen.ink(Ink::dim, fmt::format("{} more, each in one of these: --top {}", left_out,
                                                     std::min<std::size_t>(20000, 5 * view.top))));
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
        std::string words = one->share >= worth_a_word ? words_of_most_slots(one->slots) : "";
        if (one->counts && one->share >= worth_a_word)
            if (const std::string met = words_of(*one->counts); !met.empty()) words += " (" + met + ")";
        if (!words.empty()) text = pad_right(text, 52) + "  " + words;
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
    if (!where.region.empty())
        screen.entry(screen.ink(Ink::bold, "Region") + "   ",
                     screen.say(where.region) + ": all slots below are those of it, with what it calls");
    show_findings(screen, where);
    screen.line();
    if (view.by == PlaceKind::data)
        show_data(screen, where, view);
    else if (view.by == PlaceKind::path && !where.calls.empty())
        show_paths(screen, where, view);
    else if (view.by == PlaceKind::path)
        screen.entry("", "this record has no callers: it was written by a version that did not follow calls");
    else if (view.by == PlaceKind::loop && where.loops.empty())
        screen.entry("", "this record has no loops: it was written by a version that did not find them");
    else
        show_table(screen, where, view);
    show_gains(screen, where);
    if (record.source.kind == record::SourceKind::perf || !run.extra.beside.empty())
        screen.entry("", "The tree is counted; which code takes the slots, and why, the model says.", 0);
    if (!view.annotate.empty()) show_annotated(screen, where, view);
}

}  // namespace tmaprobe::report
