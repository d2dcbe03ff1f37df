#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "report/findings.h"
#include "report/numbers.h"
#include "report/screen.h"
#include "report/sources.h"
#include "report/tree.h"

namespace tmaprobe::report {
namespace {

using record::Metric;

std::string flags_of(const Metric& metric) {
    std::string all;
    for (const auto& warning : metric.warnings) {
        if (!is_doubt(warning)) continue;
        std::string words = warning;
        std::replace(words.begin(), words.end(), '_', ' ');
        all += (all.empty() ? "" : ", ") + words;
    }
    return all;
}

/// What a row says behind its name; each cell is clean and uncoloured.
struct Cells {
    std::string name, value, of, bounds, counted, status, note;
};

/// Bounds that are impossible by orders of magnitude would take the names' room.
std::string narrow_bounds(const Metric& metric) {
    constexpr double beyond = 9.995;
    if (is_share(metric) && metric.low > beyond) return ">999%";
    if (is_share(metric) && metric.high < -beyond) return "<-999%";
    return bounds_text(metric);
}

Cells cells_of(const Screen& screen, const Metric& metric, std::size_t indent, Footnotes& notes) {
    Cells cells;
    cells.name = std::string(indent, ' ') + screen.say(metric.name);
    if (!has_value(metric)) {
        cells.note = status_words(metric) + notes.mark(metric.reason);
        return cells;
    }
    cells.value = screen.say(value_text(metric));
    cells.of = share_of(metric);
    cells.bounds = narrow_bounds(metric);
    cells.counted = fmt::format("{:.0f}%", 100 * metric.counted_share);
    cells.status = status_words(metric);
    if (const auto flags = flags_of(metric); !flags.empty()) {
        cells.value += "!";
        cells.status += notes.mark(metric.name + " is " + flags + ": do not rely on it");
    }
    if (!std::ranges::all_of(metric.warnings, is_doubt))
        cells.status += notes.mark(metric.name + " is made with a published latency, not with this program's");
    return cells;
}

/// Columns of the tree, as wide as their widest cell; the name and the bar share what is left. One of no width is not
/// shown.
struct Columns {
    std::size_t name = 0, bar = 0, value = 0, of = 0, bounds = 0, counted = 0, status = 0;
};

/// What a terminal too narrow for all columns goes without, beside the bar: first the statuses, if they are all the
/// same and stand in the title; then the bounds, which the verdict and the wider report have.
enum class Narrowing { none, one_status, no_bounds };

Columns columns_for(const Screen& screen, const std::vector<Cells>& rows, bool show_of, bool show_counted,
                    Narrowing narrowing, bool one_status) {
    Columns columns;
    columns.value = 6;
    columns.bounds = 10;
    columns.status = 6;
    columns.counted = show_counted ? 7 : 0;
    columns.of = show_of ? 6 : 0;
    for (const auto& row : rows) {
        columns.name = std::max(columns.name, width_of(row.name));
        columns.value = std::max(columns.value, width_of(row.value));
        columns.bounds = std::max(columns.bounds, width_of(row.bounds));
        columns.status = std::max(columns.status, width_of(row.status));
    }
    if (narrowing != Narrowing::none && one_status) columns.status = 0;
    if (narrowing == Narrowing::no_bounds) columns.bounds = columns.counted = 0;
    std::size_t fixed = 2 + 1 + columns.value;
    for (const std::size_t optional : {columns.bounds, columns.status, columns.of, columns.counted})
        if (optional) fixed += 1 + optional;
    constexpr std::size_t least_bar = 4, most_bar = 24, least_name = 12;
    const std::size_t room = screen.width() > fixed ? screen.width() - fixed : 0;
    columns.name = std::clamp(columns.name, least_name, std::max(least_name, room));
    if (narrowing == Narrowing::none && room > least_name + least_bar)
        columns.name = std::min(columns.name, room - least_bar - 1);
    columns.bar = room > columns.name + 1 ? std::min(most_bar, room - columns.name - 1) : 0;
    if (columns.bar < least_bar) columns.bar = 0;
    return columns;
}

/// The most columns in which names can still be told apart.
Columns fitting_columns(const Screen& screen, const std::vector<Cells>& rows, bool show_of, bool show_counted,
                        bool one_status) {
    constexpr std::size_t least_name = 20;
    std::size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, width_of(row.name));
    Columns columns;
    for (const Narrowing narrowing : {Narrowing::none, Narrowing::one_status, Narrowing::no_bounds}) {
        columns = columns_for(screen, rows, show_of, show_counted, narrowing, one_status);
        if (columns.name >= std::min(widest, least_name)) break;
    }
    return columns;
}

void show_row(Screen& screen, const Metric& metric, const Cells& cells, const Columns& columns) {
    const bool marked = metric.bottleneck;
    std::string text = marked ? screen.either("▶ ", "> ") : "  ";
    // A reason instead of values has the room of all other columns; a narrow terminal has less than it needs.
    std::size_t room = columns.name;
    if (!cells.note.empty() && room + 3 + width_of(cells.note) > screen.width())
        room = std::max<std::size_t>(12, screen.width() - std::min(screen.width(), 3 + width_of(cells.note)));
    const std::string name = pad_right(shorten(cells.name, room, screen.ascii()), room);
    text += marked ? screen.ink(Ink::bold, name) : name;
    if (!cells.note.empty()) {
        screen.line(text + " " + screen.ink(Ink::dim, cells.note));
        return;
    }
    const std::string drawn = is_share(metric) ? bar(metric.value, columns.bar, screen.ascii()) : "";
    const Ink heat = is_share(metric) ? Screen::heat(metric.value) : Ink::plain;
    if (columns.bar) text += " " + screen.ink(heat, pad_right(drawn, columns.bar));
    text += " " + screen.ink(heat, pad_left(cells.value, columns.value));
    if (columns.of) text += " " + pad_right(cells.of, columns.of);
    if (columns.bounds) text += " " + pad_left(cells.bounds, columns.bounds);
    if (columns.counted) text += " " + pad_left(cells.counted, columns.counted);
    if (columns.status) text += " " + screen.ink(Ink::dim, cells.status);
    screen.line(text);
}

void show_headings(Screen& screen, const Columns& columns, const std::string& title) {
    const std::size_t left = 2 + columns.name + (columns.bar ? 1 + columns.bar : 0);
    // A long title takes the place of the heading beside it, and pushes nothing.
    std::string text, behind;
    if (columns.of) behind += " " + pad_right("of", columns.of);
    if (columns.bounds) behind += " " + pad_left("low..high", columns.bounds);
    if (columns.counted) behind += " " + pad_left("counted", columns.counted);
    if (columns.status) behind += " status";
    if (width_of(title) <= left)
        text = pad_right(title, left) + " " + pad_left("value", columns.value) + behind;
    else if (width_of(title) <= left + 1 + columns.value)
        text = pad_right(title, left + 1 + columns.value) + behind;
    else
        text = title;  // narrower than any table: the title stands alone
    const auto lines = width_of(text) <= screen.width() ? std::vector{text} : wrap(text, screen.width());
    for (const auto& line : lines) screen.line(screen.ink(Ink::dim, line));
}

void show_rows(Screen& screen, const std::vector<TreeRow>& rows, const std::string& title) {
    std::set<std::string> units, statuses;
    bool multiplexed = false, flagged = false;
    for (const auto& row : rows) {
        if (!has_value(*row.metric)) continue;
        units.insert(share_of(*row.metric));
        statuses.insert(status_words(*row.metric));
        flagged |= !row.metric->warnings.empty();
        multiplexed |= row.metric->counted_share < 0.995;
    }
    const bool one_unit = units.size() <= 1;
    Footnotes notes;
    std::vector<Cells> cells;
    Columns columns;
    // Deep trees of long names are indented less before a name is shortened.
    for (const int step : {2, 1}) {
        cells.clear();
        std::size_t widest = 0;
        for (const auto& row : rows) {
            cells.push_back(cells_of(screen, *row.metric, static_cast<std::size_t>(step * row.depth), notes));
            widest = std::max(widest, width_of(cells.back().name));
        }
        columns = fitting_columns(screen, cells, !one_unit, multiplexed, statuses.size() == 1 && !flagged);
        if (columns.name >= widest) break;
    }
    const std::string unit = one_unit && !units.empty() && !units.begin()->empty() ? "% of " + *units.begin() : "";
    std::string whole = title + (unit.empty() ? "" : ", " + unit);
    if (!columns.status && !statuses.empty()) whole += ", " + *statuses.begin();
    if (!columns.counted && multiplexed) whole += ", not counted all the time";
    show_headings(screen, columns, whole);
    for (std::size_t i = 0; i < rows.size(); ++i) show_row(screen, *rows[i].metric, cells[i], columns);
    notes.show(screen);
}

}  // namespace

void show_left_out(Screen& screen, const std::string& why, const std::vector<std::string>& names) {
    if (names.empty()) return;
    constexpr std::size_t most = 40;
    const auto shown = std::span(names).first(std::min(most, names.size()));
    const std::string more = names.size() > most ? fmt::format(" and {} more (-v)", names.size() - most) : "";
    screen.entry("", fmt::format("{}: {}{}", why, fmt::join(shown, ", "), more), 2);
}

void show_tree(Screen& screen, const record::Record& record, const record::Run& run) {
    auto rows = tree_rows(run.metrics);
    if (rows.empty()) return;
    int deepest = 1;
    for (const auto& row : rows) deepest = std::max(deepest, row.metric->level);
    std::vector<std::string> left_out;
    if (!screen.style().verbose) rows = telling_rows(rows, left_out);
    screen.line();
    const std::string name = has_own_tree(record) ? "tmaprobe's own tree" : "Top-down";
    show_rows(screen, rows, deepest > 1 ? fmt::format("{}, levels 1-{}", name, deepest) : name + ", level 1");
    if (bottleneck(run.metrics))
        screen.line(screen.ink(Ink::dim, fmt::format("{}marks the path to the bottleneck", screen.either("▶ ", "> "))));
    show_left_out(screen, "Below 0.5%", left_out);
}

namespace {

bool is_basic(const record::Metric& metric) { return metric.level <= 0 && metric.subcategory == "basic"; }

}  // namespace

void show_basic_metrics(Screen& screen, const record::Run& run) {
    std::vector<TreeRow> rows;
    for (const auto& metric : run.metrics)
        if (is_basic(metric)) rows.push_back({&metric, 0});
    if (rows.empty()) return;
    screen.line();
    show_rows(screen, rows, "Counts");
}

void show_other_metrics(Screen& screen, const record::Run& run) {
    std::vector<TreeRow> translation, others;
    std::vector<std::string> left_out;
    for (const auto* metric : other_metrics(run.metrics)) {
        if (is_basic(*metric)) continue;
        const bool of_translation = metric->category == record::Category::tlb;
        if (of_translation && !screen.style().verbose && !is_telling(*metric))
            left_out.push_back(metric->name);
        else
            (of_translation ? translation : others).push_back({metric, 0});
    }
    if (!translation.empty()) {
        screen.line();
        const std::string pages = screen.say(pages_label(run));
        show_rows(screen, translation, pages.empty() ? "Address translation" : "Address translation, pages " + pages);
    }
    if (translation.empty() && !left_out.empty()) screen.line();
    show_left_out(screen, translation.empty() ? "Translation that is 0, or below 0.5%" : "0, or below 0.5%", left_out);
    if (!others.empty()) {
        screen.line();
        show_rows(screen, others, "Further metrics");
    }
}

namespace {

/// By socket, node, CPU, thread or control group, as asked: the tree's first level, or counts where there is none.
void show_places(Screen& screen, const record::Run& run, const std::string& per) {
    std::vector<std::string> metrics, counts;
    for (const auto& metric : run.metrics)
        if (metric.level == 1) metrics.push_back(metric.name);
    for (const auto& event : run.events)
        if ((metrics.empty() || event.pmu == "software") && std::ranges::find(counts, event.name) == counts.end())
            counts.push_back(event.name);
    const bool has_cpus = per == "core" || per == "socket" || per == "node";
    std::vector<std::vector<std::string>> rows{{screen.say(per == "cgroup" ? "control group" : per)}};
    if (has_cpus) rows[0].push_back("CPUs");
    for (const auto* names : {&metrics, &counts})
        for (const auto& name : *names) rows[0].push_back(screen.say(name));
    for (const auto& place : run.extra.per_core) {
        std::vector<std::string> row{place.name.empty() ? std::to_string(place.core) : screen.say(place.name)};
        if (has_cpus) row.push_back(fmt::format("{}", fmt::join(place.cpus, ",")));
        const auto cell = [&](const std::string& name, auto format) {
            const auto value = place.metrics.find(name);
            const bool known = value != place.metrics.end() && value->second;
            row.push_back(known ? format(*value->second) : std::string("none"));
        };
        for (const auto& name : metrics) cell(name, [](double value) { return percent(value); });
        for (const auto& name : counts) cell(name, [](double value) { return plain_number(value); });
        rows.push_back(std::move(row));
    }
    screen.line();
    screen.table(rows);
}

}  // namespace

void show_cores(Screen& screen, const record::Run& run) {
    const auto per = run.parameters.options.find("per");
    const bool asked = per != run.parameters.options.end();
    if (asked && !run.extra.per_core.empty()) return show_places(screen, run, per->second);
    if (run.extra.per_core.size() < 2) return;
    std::vector<std::vector<std::string>> rows{{"Core", "CPUs"}};
    std::vector<const record::Metric*> columns;
    for (const auto& metric : run.metrics)
        if (metric.level == 1) columns.push_back(&metric);
    for (const auto* column : columns) rows[0].push_back(screen.say(column->name));
    for (const auto& core : run.extra.per_core) {
        std::vector<std::string> row{std::to_string(core.core), fmt::format("{}", fmt::join(core.cpus, ","))};
        for (const auto* column : columns) {
            const auto value = core.metrics.find(column->name);
            row.push_back(value != core.metrics.end() && value->second ? percent(*value->second) : "none");
        }
        rows.push_back(std::move(row));
    }
    screen.line();
    screen.table(rows);
}

void show_events(Screen& screen, const record::Run& run) {
    if (run.events.empty()) return;
    screen.line();
    std::vector<std::vector<std::string>> rows{{"Events", "value", "running", "group", "encoding"}};
    for (const auto& event : run.events) {
        const auto& reading = event.reading;
        const bool never = reading.time_enabled_ns > 0 && reading.time_running_ns == 0;
        const double share = reading.time_enabled_ns == 0 ? 1
                                                          : static_cast<double>(reading.time_running_ns) /
                                                                static_cast<double>(reading.time_enabled_ns);
        const std::string value = never ? "not counted" : plain_number(reading.value);
        rows.push_back({screen.say(event.name), event.note == record::Note::none || never ? value : text_of(event.note),
                        fmt::format("{:.0f}%", 100 * share), fmt::format("{}.{}", event.pass, event.group),
                        screen.say(event.pmu + "/" + event.config)});
    }
    screen.table(rows);
}

void show_details(Screen& screen, const record::Run& run) {
    show_events(screen, run);
    bool first = true;
    for (const auto& metric : run.metrics) {
        if (metric.formula.empty()) continue;
        if (first) screen.line(), screen.line(screen.ink(Ink::dim, "Formulas"));
        first = false;
        screen.line(screen.say(metric.name));
        screen.entry("  =", metric.formula, 4);
        if (!metric.description.empty()) screen.entry("", metric.description, 4);
    }
}

}  // namespace tmaprobe::report
