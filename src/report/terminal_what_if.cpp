#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/screen.h"
#include "report/what_if.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

void show_answers(Screen& screen, const record::WhatIf& what_if) {
    std::size_t widest = 0;
    for (const auto& answer : what_if.answers)
        if (!makes_no_difference(answer.speed_up)) widest = std::max(widest, words_of(answer).size());
    const auto row = [&](const std::string& times, const std::string& range, const std::string& what,
                         const std::string& then) {
        std::string text = fmt::format("{:>5}  {:>11}  ", times, range) + pad_right(what, widest);
        constexpr std::size_t least = 16;
        if (screen.width() >= text.size() + 2 + least)
            text += "  " + shorten(then, screen.width() - text.size() - 2, screen.ascii());
        return shorten(text, screen.width(), screen.ascii());
    };
    std::vector<std::string> none;
    screen.line(screen.ink(Ink::dim, row("times", "low..high", "as fast if", "then bound by")));
    for (const auto& answer : what_if.answers) {
        if (makes_no_difference(answer.speed_up)) {
            none.push_back(words_of(answer));
            continue;
        }
        screen.line(row(times_text(answer.speed_up.value), bounds_text(answer.speed_up), words_of(answer),
                        bottleneck_words(answer.slots)));
    }
    if (!none.empty()) show_left_out(screen, "No difference if", none);
}

void show_mappings(Screen& screen, const record::WhatIf& what_if) {
    if (!what_if.mappings_unknown.empty())
        screen.entry("", "Which mappings large pages are worth it for is not known: " + what_if.mappings_unknown, 2);
    if (what_if.mappings.empty()) return;
    screen.line();
    screen.line(screen.ink(Ink::dim, "times   low..high  as fast if these alone were in pages of 2 MiB"));
    for (const record::MappingPages& mapping : what_if.mappings) {
        screen.line(fmt::format("{:>5}  {:>10}  {}; {} of slots wait for it", times_text(mapping.speed_up.value),
                                bounds_text(mapping.speed_up), screen.say(words_of(mapping)), percent(mapping.waits)));
        if (makes_no_difference(mapping.speed_up)) continue;
        screen.entry("", way_to_large_pages(mapping), 8);
    }
}

void show_shares(Screen& screen, const record::WhatIf& what_if) {
    if (what_if.shares.empty()) return;
    screen.line();
    screen.line(
        screen.ink(Ink::dim, "   time  that would be saved, shared out among the main causes (Shapley values)"));
    double all = 0;
    for (const auto& [change, share] : what_if.shares) {
        screen.line(fmt::format("{:>7}  if {}", percent(share), words_of(change)));
        all += share;
    }
    screen.line(fmt::format("{:>7}  all of these together", percent(all)));
}

std::string features_text(const std::vector<record::InstructionSetUse>& uses) {
    std::string text;
    for (const auto& [feature, share] : uses)
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", feature, percent(share));
    return text;
}

/// Targets that could not execute the trace as it is, those that lack the same together.
void show_lacks(Screen& screen, const record::WhatIf& what_if) {
    std::vector<std::pair<std::string, std::string>> lacks;  // what, and who
    for (const auto& target : what_if.targets) {
        if (target.lacks.empty()) continue;
        const std::string what = features_text(target.lacks);
        auto same = std::ranges::find(lacks, what, [](const auto& one) { return one.first; });
        if (same == lacks.end()) same = lacks.insert(lacks.end(), {what, ""});
        same->second += (same->second.empty() ? "" : ", ") + target.folder;
    }
    for (const auto& [what, who] : lacks)
        screen.entry("", "Could not execute it: " + who + " lack " + what + " of the instructions.", 2);
    for (const record::ChosenByCpu& one : what_if.chosen_by_cpu)
        screen.entry("",
                     fmt::format("{} chose its code by what this CPU has ({}): {} of the instructions are such, and "
                                 "another CPU may run others.",
                                 base_name(one.path), one.by_loader ? "ifunc" : "cpuid", percent(one.share)),
                     2);
}

void show_targets(Screen& screen, const record::WhatIf& what_if) {
    if (what_if.targets.empty()) return;
    screen.line();
    std::vector<std::vector<std::string>> rows{{"the same trace on", "times as fast", "low..high", "cycles", "clock"}};
    std::vector<std::string> none;
    bool partly = false;
    for (const auto& target : what_if.targets) {
        if (!target.unavailable.empty()) {
            none.push_back(target.folder);
            continue;
        }
        const bool unknown = target.unmodelled > 0.001;
        partly |= unknown;
        rows.push_back({screen.say(target.folder) + (unknown ? " *" : ""), times_text(target.speed_up.value),
                        bounds_text(target.speed_up), times_text(target.cycles_ratio) + "x",
                        fmt::format("{:.2f} GHz", target.frequency_hz / 1e9)});
    }
    screen.table(rows);
    show_lacks(screen, what_if);
    if (partly) screen.entry("  *", "some of the instructions are not known there, and count as nothing", 4);
    if (!none.empty()) show_left_out(screen, "Could not be simulated", none);
    screen.entry("",
                 "By the tables of these CPUs alone, at their published clocks. A program that chooses its code by "
                 "what the CPU has chose it here.",
                 2);
}

}  // namespace

void show_what_if(Screen& screen, const record::Run& run) {
    const record::WhatIf& what_if = *run.extra.what_if;
    screen.line();
    if (const auto sentence = what_if_sentence(what_if); !sentence.empty())
        screen.entry(screen.ink(Ink::bold, "What if") + "  ", screen.say(sentence));
    screen.line();
    show_answers(screen, what_if);
    show_mappings(screen, what_if);
    show_shares(screen, what_if);
    show_targets(screen, what_if);
    const std::string trace_size = fmt::format("{:.2f} MB", static_cast<double>(what_if.trace_bytes) / 1e6);
    screen.entry("",
                 fmt::format("{} instructions of the trace ({}), simulated again with each change alone.",
                             plain_number(static_cast<double>(what_if.trace_instructions)), trace_size),
                 2);
}

}  // namespace tmaprobe::report
