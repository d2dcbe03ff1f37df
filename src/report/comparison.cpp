#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/sizes.h"
#include "report/numbers.h"
#include "report/screen.h"

namespace tmaprobe::report {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t most_blocks = 4;
constexpr double least_confidence = 0.95;

std::string text_of(const json& object, const char* key) {
    return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : std::string();
}

double number_of(const json& object, const char* key) { return object.contains(key) && object[key].is_number() ? object[key].get<double>() : 0; }

std::string change(double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); }

std::vector<std::string> time_row(const Screen& screen, const std::string& name, const json& time) {
    if (!time.is_object()) return {screen.say(name), "-", "-", "-", "no time"};
    // Two single times are two numbers, and no change.
    if (time.contains("confidence") && number_of(time, "confidence") < least_confidence)
        return {screen.say(name), format_ns(number_of(time, "before_ns")), format_ns(number_of(time, "after_ns")), "not judged",
                time.contains("disturbed") && time["disturbed"] == true ? "too few undisturbed repetitions" : "too few repetitions"};
    const bool sure = time.contains("differs") && time["differs"] == true;
    const std::string range = change(number_of(time, "low")) + ".." + change(number_of(time, "high"));
    return {screen.say(name), format_ns(number_of(time, "before_ns")), format_ns(number_of(time, "after_ns")), change(number_of(time, "ratio")),
            range + (sure ? "" : ", not beyond the noise")};
}

void show_metrics(const Screen& screen, const json& comparison, Rows& rows) {
    if (!comparison.contains("metrics") || !comparison["metrics"].is_array()) return;
    for (const auto& metric : comparison["metrics"]) {
        if (!metric.is_object()) continue;
        const double level = std::clamp(number_of(metric, "level"), 0.0, 6.0);
        const bool top = (level >= 1 && level <= 2) || text_of(metric, "category") == "tlb";
        if (!top && !screen.style().verbose) continue;
        const double before = number_of(metric, "before"), after = number_of(metric, "after");
        const bool share = level > 0;
        const auto value = [&](double number) { return share ? percent(number) : plain_number(number); };
        const bool beyond = metric.contains("beyond_bounds") && metric["beyond_bounds"] == true;
        rows.push_back({std::string(static_cast<std::size_t>(level < 1 ? 0 : 2 * level), ' ') + screen.say(text_of(metric, "name")), value(before), value(after),
                        share ? fmt::format("{:+.1f} points", 100 * (after - before)) : fmt::format("{:+.3g}", after - before),
                        screen.say(text_of(metric, "of")) + (beyond ? "" : ", within bounds")});
    }
}

void show_block(Screen& screen, const json& comparison) {
    if (const auto subject = text_of(comparison, "subject"); !subject.empty()) screen.line(screen.ink(Ink::bold, screen.say(subject)));
    Rows rows{{"", screen.say(text_of(comparison, "before")), screen.say(text_of(comparison, "after")), "change", "95% interval"}};
    if (comparison.contains("time")) rows.push_back(time_row(screen, "time per operation", comparison["time"]));
    show_metrics(screen, comparison, rows);
    screen.table(rows);
    if (const auto what = text_of(comparison, "what"); !what.empty()) screen.entry("", what, 0);
}

void show_notes(Screen& screen, const json& comparisons) {
    std::vector<std::string> said;
    for (const auto& comparison : comparisons) {
        if (!comparison.contains("notes") || !comparison["notes"].is_array()) continue;
        for (const auto& note : comparison["notes"]) {
            if (!note.is_string() || std::find(said.begin(), said.end(), note.get<std::string>()) != said.end()) continue;
            said.push_back(note.get<std::string>());
            screen.entry("Note", said.back());
        }
    }
}

}  // namespace

std::string render_comparisons(const json& comparisons, const TerminalStyle& style) {
    Screen screen(style);
    if (!comparisons.is_array()) return {};
    if (comparisons.size() <= most_blocks) {
        for (const auto& comparison : comparisons) {
            if (&comparison != &comparisons.front()) screen.line();
            show_block(screen, comparison);
        }
    } else {
        Rows rows{{"", "before", "after", "change", "95% interval"}};
        for (const auto& comparison : comparisons)
            if (comparison.contains("time")) rows.push_back(time_row(screen, text_of(comparison, "subject"), comparison["time"]));
        screen.table(rows);
    }
    show_notes(screen, comparisons);
    return screen.take();
}

}  // namespace tmaprobe::report
