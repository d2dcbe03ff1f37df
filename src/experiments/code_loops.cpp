#include "experiments/code_loops.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tmaprobe::experiments {
namespace {

/// Where an instruction lies: those of one place come in the order of its addresses.
auto place_of(const CodePoint& point) { return std::tie(point.module, point.process, point.offset); }

bool same_code(const CodePoint& one, const CodePoint& other) {
    return one.module == other.module && one.process == other.process;
}

/// The pieces that executed code falls into: each begins where some run begins or goes on.
class Pieces {
  public:
    Pieces(const CodePoints& points, std::vector<std::size_t> begins) : points_(points), begins_(std::move(begins)) {
        std::ranges::sort(begins_, [&](std::size_t one, std::size_t other) { return before(one, other); });
        begins_.erase(std::unique(begins_.begin(), begins_.end()), begins_.end());
        ends_.assign(begins_.size(), 0);
        graph.next.resize(begins_.size());
        graph.entered.assign(begins_.size(), false);
        for (std::size_t piece = 0; piece < begins_.size(); ++piece) {
            const auto& located = points_[begins_[piece]].located;
            graph.entered[piece] = located.begins && located.begins == located.address;
        }
    }

    /// A run is the pieces from its first instruction to its last.
    void add_run(std::size_t begin, std::size_t last, std::size_t next) {
        std::size_t piece = of(begin);
        if (!same_code(points_[begin], points_[last])) return;
        for (; piece + 1 < begins_.size(); ++piece) {
            const CodePoint& follows = points_[begins_[piece + 1]];
            if (!same_code(follows, points_[begin]) || follows.offset > points_[last].offset) break;
            ends_[piece] = std::max(ends_[piece], follows.offset - 1);
            lead(piece, piece + 1);
        }
        ends_[piece] = std::max(ends_[piece], points_[last].offset);
        if (next != FlowLoop::none) lead(piece, of(next));
    }

    /// The piece that an instruction is of, or FlowLoop::none.
    std::size_t of(std::size_t point) const {
        const auto after = std::upper_bound(begins_.begin(), begins_.end(), point,
                                            [&](std::size_t one, std::size_t other) { return before(one, other); });
        if (after == begins_.begin()) return FlowLoop::none;
        const auto piece = static_cast<std::size_t>(after - begins_.begin()) - 1;
        const CodePoint& begin = points_[begins_[piece]];
        const bool within =
            same_code(begin, points_[point]) && points_[point].offset <= std::max(ends_[piece], begin.offset);
        return within ? piece : FlowLoop::none;
    }

    std::size_t begin_of(std::size_t piece) const { return begins_[piece]; }
    std::uint64_t end_of(std::size_t piece) const { return std::max(ends_[piece], points_[begins_[piece]].offset); }
    std::size_t size() const { return begins_.size(); }

    FlowGraph graph;

  private:
    bool before(std::size_t one, std::size_t other) const { return place_of(points_[one]) < place_of(points_[other]); }
    void lead(std::size_t from, std::size_t to) {
        auto& next = graph.next[from];
        if (std::ranges::find(next, to) == next.end()) next.push_back(to);
    }

    const CodePoints& points_;
    std::vector<std::size_t> begins_;  ///< of each piece, by place
    std::vector<std::uint64_t> ends_;  ///< of each piece: the offset of its last instruction
};

/// Windows begin anywhere: where nobody saw how the functions of a file come to their executed code, its instructions
/// say so. What cannot be read says nothing.
void enter_from_functions(Pieces& pieces, const CodePoints& points, std::size_t first, std::size_t end) {
    const std::string& module = points[pieces.begin_of(first)].module;
    std::vector<symbols::ExecutedCode> executed;
    std::set<std::uint64_t> functions;
    for (std::size_t piece = first; piece < end; ++piece) {
        const CodePoint& begin = points[pieces.begin_of(piece)];
        executed.push_back({begin.offset, pieces.end_of(piece)});
        const std::uint64_t within = begin.located.address - begin.located.begins;
        if (begin.located.begins && within <= begin.offset) functions.insert(begin.offset - within);
    }
    if (functions.empty()) return;
    const auto entries = symbols::entries(module, {functions.begin(), functions.end()}, executed);
    if (!entries) return;
    for (std::size_t piece = first; piece < end; ++piece)
        if (std::ranges::binary_search(*entries, points[pieces.begin_of(piece)].offset))
            pieces.graph.entered[piece] = true;
}

/// How many functions, from the one that was called inwards, two instructions are both of.
std::size_t common_frames(const std::vector<symbols::Frame>& one, const std::vector<symbols::Frame>& other) {
    std::size_t common = 0;
    for (; common < std::min(one.size(), other.size()); ++common) {
        const auto& own = one[one.size() - 1 - common];
        const auto& others = other[other.size() - 1 - common];
        if (own.function != others.function) break;
        // One function inlined in two lines is twice there.
        if (common && one[one.size() - common].line != other[other.size() - common].line) break;
    }
    return common;
}

/// The innermost function that all of a loop is of, and its lines there.
void name(CodeLoop& loop, const CodePoints& points, const std::vector<std::size_t>& instructions) {
    const auto& frames = points[loop.head].located.frames;
    std::size_t common = frames.size();
    for (const std::size_t one : instructions)
        common = std::min(common, common_frames(frames, points[one].located.frames));
    if (!common) return;
    loop.frame = frames[frames.size() - common];
    if (common > 1) loop.called_function = frames.back().function;
    loop.last_line = loop.frame.line;
    for (const std::size_t one : instructions) {
        const auto& own = points[one].located.frames;
        const symbols::Frame& frame = own[own.size() - common];
        if (frame.file != loop.frame.file || !frame.line) continue;
        loop.frame.line = loop.frame.line ? std::min(loop.frame.line, frame.line) : frame.line;
        loop.last_line = std::max(loop.last_line, frame.line);
    }
}

}  // namespace

void CodeLoops::add(const counters::SlotAttribution& attribution, const counters::AttributedWindow& window,
                    CodePoints& points) {
    const auto number = [&](std::uint64_t address) { return points.number(attribution, window, address); };
    window.runs.for_each([&](const counters::ExecutedRun& run) {
        runs_.push_back({number(run.begin), number(run.last), run.next ? number(run.next) : FlowLoop::none});
    });
}

std::vector<CodeLoop> CodeLoops::find(const CodePoints& points) {
    std::ranges::sort(runs_);
    runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
    std::vector<std::size_t> begins;
    for (const Run& run : runs_) {
        begins.push_back(run.begin);
        if (run.next != FlowLoop::none) begins.push_back(run.next);
    }
    Pieces pieces(points, std::move(begins));
    for (const Run& run : runs_) pieces.add_run(run.begin, run.last, run.next);
    for (std::size_t first = 0, end = 0; first < pieces.size(); first = end) {
        const CodePoint& begin = points[pieces.begin_of(first)];
        while (end < pieces.size() && same_code(points[pieces.begin_of(end)], begin)) ++end;
        if (begin.module.starts_with('/') && begin.located.address) enter_from_functions(pieces, points, first, end);
    }
    const LoopForest forest = find_loops(pieces.graph);
    std::vector<CodeLoop> loops;
    for (const FlowLoop& loop : forest.loops)
        loops.push_back({loop.around, loop.depth, pieces.begin_of(loop.head), {}, {}, 0});
    innermost_.assign(points.size(), FlowLoop::none);
    std::vector<std::vector<std::size_t>> instructions(loops.size());
    for (std::size_t point = 0; point < points.size(); ++point) {
        const std::size_t piece = pieces.of(point);
        if (piece == FlowLoop::none) continue;
        innermost_[point] = forest.innermost[piece];
        for (std::size_t loop = innermost_[point]; loop != FlowLoop::none; loop = loops[loop].around)
            instructions[loop].push_back(point);
    }
    for (std::size_t loop = 0; loop < loops.size(); ++loop) name(loops[loop], points, instructions[loop]);
    return loops;
}

}  // namespace tmaprobe::experiments
