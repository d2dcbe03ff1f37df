#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/sizes.h"
#include "report/numbers.h"
#include "report/screen.h"

namespace tmaprobe::report {
namespace {

using record::Comparison;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t most_blocks = 4;

std::string change(double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); }

std::vector<std::string> time_row(const Screen& screen, const std::string& name,
                                  const std::optional<record::ComparedTime>& time) {
    if (!time) return {screen.say(name), "-", "-", "-", "no time"};
    // Two single times are two numbers, and no change.
    if (!time->judged || !time->ratio)
        return {screen.say(name), format_ns(time->before_ns), format_ns(time->after_ns), "not judged",
                time->disturbed ? "too few undisturbed repetitions" : "too few repetitions"};
    const std::string range =
        change(time->low.value_or(*time->ratio)) + ".." + change(time->high.value_or(*time->ratio));
    return {screen.say(name), format_ns(time->before_ns), format_ns(time->after_ns), change(*time->ratio),
            range + (time->differs ? "" : ", not beyond the noise")};
}

double change_of(const record::ComparedMetric& metric) { return std::fabs(metric.after - metric.before); }

/// Rows that a reader needs: what really differs, and what is large on either side; in their order, and no more than
/// leaves room for the rest of one screen.
std::vector<const record::ComparedMetric*> telling_metrics(const Comparison& comparison) {
    constexpr double large = 0.05;
    constexpr std::size_t most = 12;
    std::vector<const record::ComparedMetric*> chosen;
    for (const auto& metric : comparison.metrics) {
        const bool share = metric.level > 0, top = metric.level == 1;
        const bool differs = metric.beyond_bounds && change_of(metric) >= (share ? 0.005 : 0.0);
        const bool counts = share || metric.category == record::Category::tlb;
        if (counts &&
            (top || differs || (share && metric.level == 2 && std::max(metric.before, metric.after) >= large)))
            chosen.push_back(&metric);
    }
    const auto weight = [](const record::ComparedMetric* metric) {
        const double largest = std::max({std::fabs(metric->before), std::fabs(metric->after), 1e-300});
        return (metric->level == 1 ? 2.0 : 0.0) +
               (metric->level > 0 ? change_of(*metric) : change_of(*metric) / largest);
    };
    while (chosen.size() > most) chosen.erase(std::ranges::min_element(chosen, {}, weight));
    return chosen;
}

void show_metrics(const Screen& screen, const Comparison& comparison, Rows& rows) {
    std::vector<const record::ComparedMetric*> shown;
    if (screen.style().verbose)
        for (const auto& metric : comparison.metrics) shown.push_back(&metric);
    else
        shown = telling_metrics(comparison);
    for (const auto* metric : shown) {
        const int indent = metric->level > 0 ? 2 * std::min(metric->level, 6) : 2;
        rows.push_back(
            compared_cells(*metric, std::string(static_cast<std::size_t>(indent), ' ') + screen.say(metric->name)));
    }
}

void show_block(Screen& screen, const Comparison& comparison) {
    const std::string subject = comparison.subject.empty() ? "two runs" : comparison.subject;
    screen.entry("Compared", fmt::format("{}: {} against {}", subject, comparison.after, comparison.before));
    screen.entry(screen.ink(Ink::bold, "Verdict") + "  ",
                 comparison.what.empty() ? "nothing to compare" : comparison.what);
    screen.line();
    Rows rows{{"", screen.say(comparison.before), screen.say(comparison.after), "change", "95% interval"}};
    rows.push_back(time_row(screen, "time per operation", comparison.time));
    show_metrics(screen, comparison, rows);
    screen.table(rows);
    const std::size_t shown = rows.size() - 2;
    if (shown < comparison.metrics.size())
        screen.line(screen.ink(Ink::dim, fmt::format("{} more metrics: -v", comparison.metrics.size() - shown)));
}

void show_notes(Screen& screen, const std::vector<Comparison>& comparisons) {
    std::vector<std::string> said;
    for (const auto& comparison : comparisons)
        for (const auto& note : comparison.notes) {
            if (std::find(said.begin(), said.end(), note) != said.end()) continue;
            said.push_back(note);
            screen.entry("Note", note);
        }
}

}  // namespace

std::vector<std::string> compared_cells(const record::ComparedMetric& metric, const std::string& name) {
    const bool share = metric.level > 0;
    const auto value = [&](double number) { return share ? percent(number) : plain_number(number); };
    return {name, value(metric.before), value(metric.after),
            share ? fmt::format("{:+.1f} points", 100 * (metric.after - metric.before))
                  : fmt::format("{:+.3g}", metric.after - metric.before),
            text_of(metric.of) + (metric.beyond_bounds ? "" : ", within bounds")};
}

std::string render_comparisons(const std::vector<Comparison>& comparisons, const TerminalStyle& style) {
    Screen screen(style);
    if (comparisons.size() <= most_blocks) {
        for (const auto& comparison : comparisons) {
            if (&comparison != &comparisons.front()) screen.line();
            show_block(screen, comparison);
        }
    } else {
        Rows rows{{"", "before", "after", "change", "95% interval"}};
        for (const auto& comparison : comparisons)
            rows.push_back(time_row(screen, comparison.subject, comparison.time));
        screen.table(rows);
    }
    show_notes(screen, comparisons);
    return screen.take();
}

}  // namespace tmaprobe::report
