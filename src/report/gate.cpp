#include "report/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sizes.h"
#include "base/statistics.h"
#include "report/markdown_text.h"
#include "report/numbers.h"
#include "report/screen.h"

namespace tmaprobe::report {
namespace {

using record::CodeCost;
using record::CostMove;
using record::GateVerdict;

std::string change_percent(double change) { return fmt::format("{:+.2f}%", 100 * change); }

std::string change_interval(const record::Estimated& change) {
    return fmt::format("95% interval {}..{}", change_percent(change.low), change_percent(change.high));
}

std::string place_text(const CodeCost& code) {
    if (code.file.empty()) return code.module;
    return code.line ? fmt::format("{}:{}", code.file, code.line) : code.file;
}

std::string code_name(const CodeCost& code) {
    return code.function.empty() ? code.module + " (no symbol)" : code.function;
}

std::vector<std::string> sentences_of(const record::Gate& gate) {
    std::vector<std::string> sentences;
    const auto& result = *gate.result;
    if (result.measured)
        sentences.push_back(fmt::format("By the clock {} ({} runs, medians; a second opinion, which decides nothing).",
                                        change_percent(*result.measured), gate.cost.measured_ns.size()));
    for (const auto& note : result.notes) sentences.push_back("Note: " + note + ".");
    const auto listed = [&](const char* what, const std::vector<std::string>& names) {
        constexpr std::size_t most = 5;
        if (names.empty()) return;
        std::string text = what;
        for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i ? ", " : " ") + names[i];
        if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
        sentences.push_back(text + ".");
    };
    listed("New functions:", result.appeared);
    listed("Functions that are gone:", result.vanished);
    return sentences;
}

std::string layouts_text(const std::vector<double>& changes) {
    const auto [low, high] = std::ranges::minmax(changes);
    return fmt::format("{}..{} in the {} layouts of memory by themselves", change_percent(low), change_percent(high),
                       changes.size());
}

void show_moves(Screen& screen, const std::vector<CostMove>& moves, const char* what) {
    constexpr std::size_t most = 8;
    if (moves.empty()) return;
    std::vector<std::vector<std::string>> rows{{what, "before", "after", "of all"}};
    for (const CostMove& move : moves) {
        if (rows.size() > most) break;
        const std::string place = place_text(move.code);
        rows.push_back({screen.say(code_name(move.code) + (place.empty() ? "" : "  " + place)),
                        plain_number(move.before), plain_number(move.after), change_percent(move.share)});
    }
    screen.line();
    screen.table(rows);
}

void show_cost(Screen& screen, const record::Record& record, const record::Gate& gate) {
    const auto& cost = gate.cost;
    screen.entry("Cost", fmt::format("{} cycles ({}..{}) of {}, modelled for {}", plain_number(cost.cycles.value),
                                     plain_number(cost.cycles.low), plain_number(cost.cycles.high),
                                     plain_number(cost.instructions) + " instructions", record.source.target));
    screen.entry("", fmt::format("{} instructions simulated in {} windows and {} layouts of memory",
                                 plain_number(cost.simulated), cost.windows, gate.layouts));
}

std::string heading_of(const record::Gate& gate) {
    std::string text;
    for (const std::string& word : gate.command) text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace

std::string gate_sentence(const record::Gate& gate) {
    if (!gate.result) return "A baseline: nothing to compare with.";
    const auto& result = *gate.result;
    const std::string limit = fmt::format("{:.2f}%", 100 * result.fail_above);
    if (result.verdict == GateVerdict::not_judged) return "NOT JUDGED: " + result.reason + ".";
    const std::string change = result.change ? fmt::format("{} cycles, {}", change_percent(result.change->value),
                                                           change_interval(*result.change))
                                             : "";
    if (result.verdict == GateVerdict::slower)
        return fmt::format("SLOWER by more than {}: {} (modelled).", limit, change);
    if (result.verdict == GateVerdict::faster) return fmt::format("Faster: {} (modelled).", change);
    return fmt::format("Passed: not slower by more than {} with confidence: {} (modelled).", limit, change);
}

std::string render_gate(const record::Record& record, const TerminalStyle& style) {
    Screen screen(style);
    const record::Gate& gate = *record.runs.front().extra.gate;
    screen.entry("Verdict", gate_sentence(gate));
    screen.entry("Command", heading_of(gate));
    show_cost(screen, record, gate);
    if (gate.result) {
        const auto& result = *gate.result;
        if (result.instructions)
            screen.entry("Change", fmt::format("{} instructions, counted", change_percent(*result.instructions)));
        if (!result.layouts.empty()) screen.entry("", layouts_text(result.layouts));
        for (const auto& sentence : sentences_of(gate)) screen.entry("", sentence);
        show_moves(screen, result.functions, "cycles by function");
        show_moves(screen, result.lines, "cycles by line");
    }
    for (const auto& warning : record.warnings) {
        screen.line();
        screen.entry("Warning", warning.what);
        if (!warning.hint.empty()) screen.entry("", warning.hint);
    }
    return screen.take();
}

std::string gate_markdown(const record::Record& record) {
    const record::Gate& gate = *record.runs.front().extra.gate;
    std::string text =
        "### " + markdown_code(heading_of(gate)) + "\n\n**" + markdown_text(gate_sentence(gate)) + "**\n\n";
    const auto table = [&](const std::vector<CostMove>& moves, const std::string& what) {
        if (moves.empty()) return;
        text += markdown_heading({what, "cycles before", "after", "of all"});
        for (const CostMove& move : moves) {
            const std::string place = place_text(move.code);
            text +=
                markdown_row({markdown_code(code_name(move.code)) + (place.empty() ? "" : " " + markdown_code(place)),
                              plain_number(move.before), plain_number(move.after), change_percent(move.share)});
        }
        text += "\n";
    };
    if (gate.result) {
        table(gate.result->functions, "function");
        table(gate.result->lines, "line");
        if (!gate.result->layouts.empty()) text += "- " + markdown_text(layouts_text(gate.result->layouts)) + "\n";
        for (const auto& sentence : sentences_of(gate)) text += "- " + markdown_text(sentence) + "\n";
    }
    for (const auto& warning : record.warnings)
        text += "- " + markdown_text("Warning: " + warning.what + "; " + warning.hint) + "\n";
    return text + "\n";
}

}  // namespace tmaprobe::report
