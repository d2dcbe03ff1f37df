#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

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

void show_metrics(const Screen& screen, const Comparison& comparison, Rows& rows) {
    for (const auto& metric : comparison.metrics) {
        const int level = std::clamp(metric.level, 0, 6);
        const bool top = (level >= 1 && level <= 2) || metric.category == record::Category::tlb;
        if (!top && !screen.style().verbose) continue;
        const bool share = level > 0;
        const auto value = [&](double number) { return share ? percent(number) : plain_number(number); };
        rows.push_back({std::string(static_cast<std::size_t>(2 * level), ' ') + screen.say(metric.name),
                        value(metric.before), value(metric.after),
                        share ? fmt::format("{:+.1f} points", 100 * (metric.after - metric.before))
                              : fmt::format("{:+.3g}", metric.after - metric.before),
                        text_of(metric.of) + (metric.beyond_bounds ? "" : ", within bounds")});
    }
}

void show_block(Screen& screen, const Comparison& comparison) {
    if (!comparison.subject.empty()) screen.line(screen.ink(Ink::bold, screen.say(comparison.subject)));
    Rows rows{{"", screen.say(comparison.before), screen.say(comparison.after), "change", "95% interval"}};
    rows.push_back(time_row(screen, "time per operation", comparison.time));
    show_metrics(screen, comparison, rows);
    screen.table(rows);
    if (!comparison.what.empty()) screen.entry("", comparison.what, 0);
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
