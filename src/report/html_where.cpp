// Which code takes the slots, on the page: a flame graph by cause, the hottest functions' source beside their
// instructions, and the hottest loops cycle by cycle. None of it needs a script.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "report/data_words.h"
#include "report/formats.h"
#include "report/loop_timeline.h"
#include "report/numbers.h"
#include "report/place_stacks.h"
#include "report/text.h"
#include "report/what_if.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::CodePlace;
using record::SlotCause;
using record::Where;

std::string escaped(const std::string& text) { return escaped_html(clean(text)); }

/// The page's colour for a cause: that of its part of the tree, of what waits for memory another one.
const char* colour_of(const std::string& cause) {
    const auto known = value_named<SlotCause>(cause);
    if (!known) return "var(--other)";
    if (*known == SlotCause::retiring) return "var(--retiring)";
    if (*known <= SlotCause::recovery) return "var(--bad_speculation)";
    if (*known <= SlotCause::fetch_bandwidth) return "var(--frontend)";
    const bool memory = *known >= SlotCause::l2 && *known <= SlotCause::lock;
    return memory ? "var(--s4)" : "var(--backend)";
}

struct Flame {
    double slots = 0;
    std::map<std::string, std::unique_ptr<Flame>> inside;
    bool is_cause = false;

    Flame& in(const std::string& name) {
        auto& one = inside[name];
        if (!one) one = std::make_unique<Flame>();
        return *one;
    }
};

constexpr double flame_width = 1140, flame_row = 17;

/// What is too narrow to be seen is left out.
unsigned draw(const Flame& flame, double x, unsigned depth, double scale, double all, std::string& out) {
    unsigned deepest = depth;
    std::vector<std::pair<double, const std::string*>> order;
    for (const auto& [name, inner] : flame.inside) order.emplace_back(-inner->slots, &name);
    std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
    for (const auto& [slots, name] : order) {
        const Flame& inner = *flame.inside.at(*name);
        const double width = inner.slots * scale;
        constexpr double narrowest = 1, letter = 7;
        if (width < narrowest) continue;
        const double y = depth * flame_row;
        out += fmt::format(
            "<g><title>{}: {}</title><rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" "
            "fill=\"{}\" fill-opacity=\"{}\" stroke=\"var(--page)\"/>",
            escaped(*name), percent(inner.slots / all), x, y, width, flame_row,
            inner.is_cause ? colour_of(*name) : "var(--line)", inner.is_cause ? "0.75" : "1");
        const auto letters = static_cast<std::size_t>(width / letter);
        if (letters > 2)
            out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x + 3, y + 13,
                               escaped(shorten(clean(*name), letters, false)));
        out += "</g>\n";
        deepest = std::max(deepest, draw(inner, x, depth + 1, scale, all, out));
        x += width;
    }
    return std::max(deepest, depth);
}

std::string flame_graph(const Where& where) {
    Flame root;
    for (const PlaceStack& stack : stacks_of(where)) {
        Flame* at = &root;
        at->slots += stack.slots;
        for (const std::string& frame : stack.frames) {
            at = &at->in(frame);
            at->slots += stack.slots;
        }
        at = &at->in(stack.cause);
        at->slots += stack.slots;
        at->is_cause = true;
    }
    if (root.slots <= 0) return {};
    std::string drawn;
    const unsigned rows = draw(root, 0, 0, flame_width / root.slots, root.slots, drawn);
    return fmt::format(
        "<h3>By place and cause{}</h3>\n<p class=\"soft\">Width: slots. Below each line what became of them: "
        "retired, front end, wrong path, the core, <span style=\"color:var(--s4)\">memory</span>.</p>\n"
        "<svg class=\"flame\" role=\"img\" aria-label=\"flame graph of slots by place and cause\" viewBox=\"0 0 {:.0f} "
        "{:.0f}\" width=\"100%\" font-size=\"12\" fill=\"currentColor\">\n{}</svg>\n",
        where.region.empty() ? "" : " in region " + escaped(clean(where.region)), flame_width, rows * flame_row, drawn);
}

std::string code_of(const Where& where, const std::string& function, const WhereView& view) {
    const auto instructions = instructions_of(where, function);
    if (instructions.empty()) return {};
    std::string rows;
    const CodePlace* before = nullptr;
    for (const CodePlace* one : instructions) {
        const bool new_line = !before || before->file != one->file || before->first_line != one->first_line;
        if (new_line && one->first_line) {
            const auto source = view.sources.find(one->file);
            const bool known = source != view.sources.end() && one->first_line <= source->second.size();
            rows +=
                fmt::format("<tr><td></td><td class=\"soft\">{}:{}</td><td colspan=\"2\"><code>{}</code></td></tr>\n",
                            escaped(base_name(one->file)), one->first_line,
                            known ? escaped(source->second[one->first_line - 1]) : "");
        }
        before = one;
        constexpr double worth_a_word = 0.01;
        std::string words = one->share >= worth_a_word ? words_of_most_slots(one->slots) : "";
        if (one->counts && !words.empty())
            if (const std::string met = words_of(*one->counts); !met.empty()) words += " (" + met + ")";
        rows += fmt::format("<tr><td>{}</td><td class=\"soft\">{:#x}</td><td><code>{}</code></td><td>{}</td></tr>\n",
                            percent(one->share), one->address, escaped(one->instruction), escaped(words));
    }
    std::string newer;
    for (const std::string& file : view.newer_sources)
        newer += "<p class=\"warning\">" + escaped(file) +
                 " was changed after the program was built: its lines may be others by now</p>\n";
    return fmt::format(
        "<h3>Code of {}</h3>\n{}<div class=\"scroll\"><table class=\"code\"><tr><th>slots</th><th></th>"
        "<th></th><th>most for</th></tr>\n{}</table></div>\n",
        escaped(function), newer, rows);
}

std::string gains_of(const Where& where) {
    std::string rows;
    for (const CodePlace* line : lines_with_gains(where))
        rows +=
            fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", times_text(line->if_it_never_waited->value),
                        bounds_text(*line->if_it_never_waited), escaped(place_text(*line, record::PlaceKind::line)));
    if (rows.empty()) return {};
    return "<h3>If a line took its slots and nothing more</h3>\n<table class=\"code\"><tr><th>times as fast</th>"
           "<th>low..high</th><th></th></tr>\n" +
           rows + "</table>\n";
}

std::string data_of(const Where& where) {
    constexpr std::size_t most_rows = 10;
    constexpr double worth_a_row = 0.001;
    std::string rows;
    std::size_t count = 0;
    for (const record::DataPlace& place : where.data) {
        if (place.share < worth_a_row || ++count > most_rows) break;
        const std::string text = place.kind == record::DataKind::blocks ? blocks_text(place) : data_text(place);
        rows += fmt::format("<tr><td>{}</td><td class=\"soft\">{:.0f}..{:.0f}%</td><td>{}</td><td>{}</td></tr>\n",
                            percent(place.share), 100 * place.low, 100 * place.high, escaped(text + code_text(place)),
                            escaped(words_of_most_slots(place.slots)));
    }
    if (rows.empty()) return {};
    return "<h3>Data that are waited for</h3>\n<table class=\"code\"><tr><th>slots</th><th>low..high</th><th></th>"
           "<th>most for</th></tr>\n" +
           rows + "</table>\n";
}

std::string loop_of(const record::LoopTimeline& timeline) {
    constexpr std::size_t most_columns = 100, instruction_width = 36;
    const TimelinePicture picture = picture_of(timeline, most_columns);
    std::set<std::uint64_t> in_chain;
    for (const auto& link : timeline.chain) in_chain.insert(link.step);
    std::string text = pad_right(scale_of(picture), instruction_width + 2) + picture.ruler + "\n";
    for (std::size_t i = 0; i < timeline.steps.size(); ++i)
        text +=
            (in_chain.contains(i) ? "* " : "  ") +
            pad_right(shorten(clean(timeline.steps[i].instruction), instruction_width - 1, false), instruction_width) +
            picture.rows[i] + "\n";
    const std::string chain = chain_text(timeline);
    return fmt::format(
        "<h3>Loop {}</h3>\n{}<p>Cycles of ports: {}</p>\n<pre class=\"cycles\">{}</pre>\n"
        "<p class=\"soft\">D renamed, = waits, e executes, E done, - waits for others to retire, R "
        "retires; * chain</p>\n",
        escaped(heading_of(timeline)), chain.empty() ? "" : "<p>Chain: " + escaped(chain) + "</p>\n",
        escaped(ports_text(timeline)), escaped_html(text));
}

std::string section_of(const Where& where, const WhereView& view) {
    constexpr std::size_t most_functions = 3;
    std::string text = "<h2>Where the slots go</h2>\n";
    for (std::size_t i = 0; i < std::min(most_functions, where.functions.size()); ++i) {
        const PlaceFinding finding = finding_of(where, where.functions[i]);
        text += "<p>" + escaped(finding.sentence) +
                (finding.next.empty() ? "" : "<br><span class=\"soft\">next: " + escaped(finding.next) + "</span>") +
                "</p>\n";
    }
    text += flame_graph(where);
    text += gains_of(where);
    text += data_of(where);
    for (const auto& timeline : where.timelines) text += loop_of(timeline);
    for (const std::string& function : hottest_functions(where, view)) text += code_of(where, function, view);
    return text;
}

}  // namespace

std::string where_sections(const Records& records, const WhereView& view) {
    std::string sections;
    for (const auto& record : records)
        for (const auto& run : record.runs)
            if (run.extra.where) sections += section_of(*run.extra.where, view);
    return sections.empty() ? "" : "<section class=\"where\">\n" + sections + "</section>\n";
}

}  // namespace tmaprobe::report
