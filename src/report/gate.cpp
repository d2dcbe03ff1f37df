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

std::string cost_place(const CodeCost& code) {
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
    listed("New regions, which nothing is known to compare with:", result.regions_appeared);
    listed("Regions that are gone:", result.regions_vanished);
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
        const std::string place = cost_place(move.code);
        rows.push_back({screen.say(code_name(move.code) + (place.empty() ? "" : "  " + place)),
                        plain_number(move.before), plain_number(move.after), change_percent(move.share)});
    }
    screen.line();
    screen.table(rows);
}

/// Regions with what each came to.
std::vector<std::vector<std::string>> region_rows(const record::Gate& gate) {
    std::vector<std::vector<std::string>> rows;
    if (gate.result) {
        for (const record::RegionChange& region : gate.result->regions)
            rows.push_back(
                {region.name, plain_number(region.before), plain_number(region.after),
                 change_percent(region.change.value),
                 fmt::format("{}..{}", change_percent(region.change.low), change_percent(region.change.high)),
                 region.verdict == GateVerdict::not_judged ? "not judged: too wide"
                                                           : std::string(name_of(region.verdict))});
    } else {
        for (const record::RegionInRun& region : gate.cost.regions)
            rows.push_back({region.name, plain_number(region.cycles.value),
                            fmt::format("{}..{}", plain_number(region.cycles.low), plain_number(region.cycles.high)),
                            plain_number(region.instructions)});
    }
    return rows;
}

std::vector<std::string> region_heading(const record::Gate& gate) {
    if (gate.result) return {"cycles by region", "before", "after", "change", "95% interval", "verdict"};
    return {"cycles by region", "cycles", "95% interval", "instructions"};
}

void show_regions(Screen& screen, const record::Gate& gate) {
    auto rows = region_rows(gate);
    if (rows.empty()) return;
    for (auto& row : rows) row.front() = screen.say(row.front());
    rows.insert(rows.begin(), region_heading(gate));
    screen.line();
    screen.table(rows);
}

/// Regions that became slower, the most first.
std::vector<record::RegionChange> slower_regions(const record::GateResult& result) {
    std::vector<record::RegionChange> slower;
    for (const record::RegionChange& region : result.regions)
        if (region.verdict == GateVerdict::slower) slower.push_back(region);
    std::ranges::stable_sort(slower, std::greater{}, [](const auto& one) { return one.change.value; });
    return slower;
}

/// Which regions are, where any are judged.
std::string slower_sentence(const record::GateResult& result, const std::string& limit, const std::string& change) {
    const auto slower = slower_regions(result);
    if (slower.empty()) return fmt::format("SLOWER by more than {}: {} (modelled).", limit, change);
    const record::RegionChange& most = slower.front();
    std::string text = fmt::format("SLOWER by more than {} in region {}: {} cycles, {} (modelled)", limit, most.name,
                                   change_percent(most.change.value), change_interval(most.change));
    for (std::size_t i = 1; i < slower.size(); ++i)
        text +=
            fmt::format("{} {} ({})", i == 1 ? "; in" : ",", slower[i].name, change_percent(slower[i].change.value));
    return text + fmt::format("; all of it {}.", change);
}

void show_cost(Screen& screen, const record::Record& record, const record::Gate& gate) {
    const auto& cost = gate.cost;
    screen.entry("Cost", fmt::format("{} cycles ({}..{}) of {}, modelled for {}", plain_number(cost.cycles.value),
                                     plain_number(cost.cycles.low), plain_number(cost.cycles.high),
                                     plain_number(cost.instructions) + " instructions", record.source.target));
    screen.entry("", fmt::format("{} instructions simulated in {} windows and {} layouts of memory",
                                 plain_number(cost.simulated), cost.windows, gate.layouts));
}

std::string gate_heading(const record::Gate& gate) {
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
    if (result.verdict == GateVerdict::slower) return slower_sentence(result, limit, change);
    if (result.verdict == GateVerdict::faster) return fmt::format("Faster: {} (modelled).", change);
    return fmt::format("Passed: not slower by more than {} with confidence: {} (modelled).", limit, change);
}

std::string render_gate(const record::Record& record, const TerminalStyle& style) {
    Screen screen(style);
    const record::Gate& gate = *record.runs.front().extra.gate;
    screen.entry("Verdict", gate_sentence(gate));
    screen.entry("Command", gate_heading(gate));
    show_cost(screen, record, gate);
    if (gate.result) {
        const auto& result = *gate.result;
        if (result.instructions)
            screen.entry("Change", fmt::format("{} instructions, counted", change_percent(*result.instructions)));
        if (!result.layouts.empty()) screen.entry("", layouts_text(result.layouts));
        for (const auto& sentence : sentences_of(gate)) screen.entry("", sentence);
        show_regions(screen, gate);
        show_moves(screen, result.functions, "cycles by function");
        show_moves(screen, result.lines, "cycles by line");
    } else {
        show_regions(screen, gate);
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
        "### " + markdown_code(gate_heading(gate)) + "\n\n**" + markdown_text(gate_sentence(gate)) + "**\n\n";
    const auto table = [&](const std::vector<CostMove>& moves, const std::string& what) {
        if (moves.empty()) return;
        text += markdown_heading({what, "cycles before", "after", "of all"});
        for (const CostMove& move : moves) {
            const std::string place = cost_place(move.code);
            text +=
                markdown_row({markdown_code(code_name(move.code)) + (place.empty() ? "" : " " + markdown_code(place)),
                              plain_number(move.before), plain_number(move.after), change_percent(move.share)});
        }
        text += "\n";
    };
    if (const auto rows = region_rows(gate); !rows.empty()) {
        text += markdown_heading(region_heading(gate));
        for (auto row : rows) {
            row.front() = markdown_code(row.front());
            text += markdown_row(row);
        }
        text += "\n";
    }
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
