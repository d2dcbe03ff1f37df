#include "report/loop_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/numbers.h"
#include "report/where.h"

namespace tmaprobe::report {
namespace {

using record::LoopStep;
using record::LoopTimeline;

std::string mnemonic(const std::string& instruction) { return instruction.substr(0, instruction.find_first_of(" \t")); }

}  // namespace

TimelinePicture picture_of(const LoopTimeline& timeline, std::size_t width) {
    TimelinePicture picture;
    width = std::max<std::size_t>(width, 10);
    std::uint64_t last = 0, issued = ~std::uint64_t{0};
    for (const LoopStep& step : timeline.steps) last = std::max({last, step.retired, step.done});
    for (const record::ChainLink& link : timeline.chain)
        if (link.step < timeline.steps.size()) issued = std::min(issued, timeline.steps[link.step].issued);
    // Where all of it has no room, what comes before the first of the chain is issued is only waiting.
    if (last >= width && issued > 0 && issued <= last) picture.first_cycle = issued - 1;
    picture.cycles_each = (last - picture.first_cycle) / width + 1;
    const auto place = [&](std::uint64_t cycle) {
        return static_cast<std::size_t>((cycle - picture.first_cycle) / picture.cycles_each);
    };
    const std::size_t columns = place(last) + 1;
    for (std::size_t i = 0; i < columns; ++i)
        picture.ruler += i % 10 ? ' ' : static_cast<char>('0' + static_cast<char>(i / 10 % 10));
    for (const LoopStep& step : timeline.steps) {
        std::string row(columns, ' ');
        const auto fill = [&](std::uint64_t from, std::uint64_t to, char with) {
            from = std::max(from, picture.first_cycle);
            // A record may say that something ends after the last cycle.
            for (std::size_t at = place(from); from < to && at < columns && at <= place(to - 1); ++at) row[at] = with;
        };
        // Each overwrites what came before where one character stands for several cycles.
        fill(step.done, step.retired, '-');
        fill(step.renamed, step.issued, '=');
        fill(step.issued, step.done, 'e');
        if (step.done > std::max(step.issued, picture.first_cycle)) row[place(step.done - 1)] = 'E';
        if (step.renamed >= picture.first_cycle && step.renamed <= last) row[place(step.renamed)] = 'D';
        if (step.retired >= picture.first_cycle) row[place(step.retired)] = 'R';
        row.erase(row.find_last_not_of(' ') + 1);
        picture.rows.push_back(std::move(row));
    }
    return picture;
}

std::string scale_of(const TimelinePicture& picture) {
    std::string text = picture.cycles_each == 1 ? "" : fmt::format("{} cycles a character", picture.cycles_each);
    if (picture.first_cycle) text += fmt::format("{}from cycle {} on", text.empty() ? "" : ", ", picture.first_cycle);
    return text.empty() ? "cycle by cycle" : text;
}

bool is_in(const LoopTimeline& timeline, const std::string& function) {
    return std::ranges::any_of(timeline.steps,
                               [&](const LoopStep& step) { return is_called(step.function, function); });
}

std::string heading_of(const LoopTimeline& timeline) {
    std::string place = timeline.function.empty() ? base_name(timeline.module) : timeline.function;
    if (timeline.first_line) {
        place += fmt::format(" ({}:{}", base_name(timeline.file), timeline.first_line);
        if (timeline.last_line > timeline.first_line) place += fmt::format("-{}", timeline.last_line);
        place += ")";
    }
    return fmt::format("in {}: {} of slots, {:.4g} cycles a time around (the median of {})", place,
                       percent(timeline.share), timeline.cycles, timeline.times_around);
}

std::string chain_text(const LoopTimeline& timeline) {
    std::string links;
    std::uint64_t cycles = 0;
    for (const record::ChainLink& link : timeline.chain) {
        if (link.step >= timeline.steps.size()) continue;
        if (!links.empty()) links += " -> ";
        links += fmt::format("{} {}", mnemonic(timeline.steps[link.step].instruction), link.cycles);
        cycles += link.cycles;
    }
    if (links.empty()) return {};
    if (!timeline.chain_times_around)
        return fmt::format("{} cycles, not from one time around to the next: {}", cycles, links);
    const std::string around = timeline.chain_times_around == 1
                                   ? "a time around"
                                   : fmt::format("in {} times around", timeline.chain_times_around);
    return fmt::format("{} cycles {}: {}, and again", cycles, around, links);
}

std::string ports_text(const LoopTimeline& timeline) {
    std::vector<std::pair<double, std::string>> ports;
    for (const auto& [port, cycles] : timeline.port_cycles) ports.emplace_back(-cycles, port);
    std::ranges::sort(ports);
    std::string text;
    for (const auto& [cycles, port] : ports)
        text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", port, -cycles);
    return text;
}

}  // namespace tmaprobe::report
