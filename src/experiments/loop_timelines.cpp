#include "experiments/loop_timelines.h"

#include <algorithm>
#include <map>
#include <set>

namespace tmaprobe::experiments {
namespace {

using counters::AttributedWindow;
using record::LoopTimeline;

constexpr std::size_t most_timelines = 3;

const symbols::Frame& inner_frame(const CodePoint& point) {
    static const symbols::Frame none;
    return point.located.frames.empty() ? none : point.located.frames.front();
}

LoopTimeline timeline_of(const counters::LoopTimes& loop, const std::vector<std::size_t>& numbers,
                         const CodePoint& hottest, const CodePoints& points) {
    LoopTimeline timeline;
    const symbols::Frame& frame = inner_frame(hottest);
    timeline.module = hottest.module;
    timeline.function = frame.function;
    timeline.file = frame.file;
    timeline.first_line = timeline.last_line = frame.line;
    timeline.cycles = loop.cycles;
    timeline.times_around = loop.times_around;
    for (std::size_t i = 0; i < loop.steps.size(); ++i) {
        const auto& step = loop.steps[i];
        const CodePoint& point = points[numbers[i]];
        const symbols::Frame& own = inner_frame(point);
        timeline.steps.push_back({point.located.address, point.located.instruction, own.function, own.file, own.line,
                                  step.renamed, step.issued, step.done, step.retired, step.ports, step.waits_for});
        if (own.line == 0 || own.file != timeline.file) continue;
        timeline.first_line = std::min<std::uint64_t>(timeline.first_line, own.line);
        timeline.last_line = std::max<std::uint64_t>(timeline.last_line, own.line);
    }
    for (std::size_t i = 0; i < loop.chain.size() && i < loop.chain_cycles.size(); ++i)
        timeline.chain.push_back({loop.chain[i], loop.chain_cycles[i]});
    timeline.chain_times_around = loop.chain_times_around;
    timeline.port_cycles = loop.port_cycles;
    return timeline;
}

}  // namespace

void number_loop_steps(const counters::SlotAttribution& attribution, CodePoints& points) {
    for (const AttributedWindow& window : attribution.windows)
        if (window.loop)
            for (const auto& step : window.loop->steps) points.number(attribution, window, step.address);
}

std::vector<LoopTimeline> loop_timelines(const counters::SlotAttribution& attribution, const CodePoints& points,
                                         const std::vector<double>& shares) {
    std::map<std::size_t, LoopTimeline> by_begin;  // by the number of the first instruction
    for (const AttributedWindow& window : attribution.windows) {
        if (!window.loop) continue;
        std::vector<std::size_t> numbers;
        for (const auto& step : window.loop->steps)
            if (const auto number = points.find(attribution, window, step.address)) numbers.push_back(*number);
        const auto hottest = points.find(attribution, window, window.loop->hottest);
        if (numbers.empty() || numbers.size() != window.loop->steps.size() || !hottest) continue;
        const auto known = by_begin.find(numbers.front());
        // The window that saw most of it stands for it.
        if (known != by_begin.end() && known->second.times_around >= window.loop->times_around) continue;
        LoopTimeline timeline = timeline_of(*window.loop, numbers, points[*hottest], points);
        for (const std::size_t number : std::set(numbers.begin(), numbers.end())) timeline.share += shares[number];
        by_begin.insert_or_assign(numbers.front(), std::move(timeline));
    }
    std::vector<LoopTimeline> timelines;
    for (auto& [begin, timeline] : by_begin) timelines.push_back(std::move(timeline));
    std::ranges::stable_sort(timelines, [](const auto& a, const auto& b) { return a.share > b.share; });
    if (timelines.size() > most_timelines) timelines.resize(most_timelines);
    return timelines;
}

}  // namespace tmaprobe::experiments
