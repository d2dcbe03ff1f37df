#include "experiments/loop_forest.h"

#include <algorithm>
#include <numeric>

namespace tmaprobe::experiments {
namespace {

/// Takes a graph apart: a set of pieces that lead to each other is a loop, and what is left of it without the ways to
/// where it is entered is taken apart in turn.
class TakingApart {
  public:
    explicit TakingApart(const FlowGraph& graph)
        : graph_(graph),
          before_(graph.next.size()),
          region_(graph.next.size(), 0),
          cut_(graph.next.size(), false),
          seen_(graph.next.size()) {
        forest_.innermost.assign(graph.next.size(), FlowLoop::none);
        for (std::size_t piece = 0; piece < graph.next.size(); ++piece)
            for (const std::size_t next : graph.next[piece]) before_[next].push_back(piece);
    }

    LoopForest forest() {
        regions_.push_back({std::vector<std::size_t>(graph_.next.size()), FlowLoop::none});
        std::iota(regions_[0].pieces.begin(), regions_[0].pieces.end(), 0);
        for (std::size_t region = 0; region < regions_.size(); ++region) take_apart(region);
        return std::move(forest_);
    }

  private:
    struct Seen {
        std::size_t number = 0, lowest = 0;  ///< number: in the order in which they are met; 0: not met
        bool open = false;                   ///< its set is not known yet
    };
    struct Visit {
        std::size_t piece = 0, edge = 0;
    };

    /// Pieces that are still to be taken apart, and the loop that they are in.
    struct Region {
        std::vector<std::size_t> pieces;
        std::size_t loop = FlowLoop::none;
    };

    bool leads(std::size_t to, std::size_t region) const { return region_[to] == region && !cut_[to]; }

    /// Tarjan's strongly connected components of a region, without recursion: code may be a hundred thousand pieces.
    void take_apart(std::size_t region) {
        const auto pieces = std::move(regions_[region].pieces);
        for (const std::size_t piece : pieces) {
            region_[piece] = region;
            seen_[piece] = {};
        }
        std::size_t numbers = 0;
        std::vector<std::size_t> open;
        for (const std::size_t first : pieces) {
            if (seen_[first].number) continue;
            std::vector<Visit> visits{{first, 0}};
            while (!visits.empty()) {
                auto& [piece, edge] = visits.back();
                Seen& own = seen_[piece];
                if (!own.number) {
                    own = {++numbers, numbers, true};
                    open.push_back(piece);
                }
                if (edge < graph_.next[piece].size()) {
                    const std::size_t to = graph_.next[piece][edge++];
                    if (!leads(to, region)) continue;
                    if (!seen_[to].number)
                        visits.push_back({to, 0});
                    else if (seen_[to].open)
                        own.lowest = std::min(own.lowest, seen_[to].number);
                    continue;
                }
                const std::size_t done = piece;
                visits.pop_back();
                if (!visits.empty()) {
                    Seen& outer = seen_[visits.back().piece];
                    outer.lowest = std::min(outer.lowest, seen_[done].lowest);
                }
                if (seen_[done].lowest == seen_[done].number) close(done, open, region);
            }
        }
    }

    void close(std::size_t last, std::vector<std::size_t>& open, std::size_t region) {
        const auto begin = std::find(open.rbegin(), open.rend(), last).base() - 1;
        std::vector<std::size_t> set(begin, open.end());
        open.erase(begin, open.end());
        for (const std::size_t piece : set) seen_[piece].open = false;
        const auto& next = graph_.next[last];
        const bool to_itself = std::ranges::find(next, last) != next.end() && leads(last, region);
        if (set.size() == 1 && !to_itself) return;
        std::ranges::sort(set);
        const auto heads = heads_of(set);
        for (const std::size_t head : heads) cut_[head] = true;
        std::size_t loop = regions_[region].loop;
        const bool outermost = loop == FlowLoop::none;
        if (outermost || heads.size() == 1) {
            const unsigned depth = outermost ? 1 : forest_.loops[loop].depth + 1;
            if (depth > deepest) return;
            forest_.loops.push_back({heads.front(), loop, depth});
            loop = forest_.loops.size() - 1;
            for (const std::size_t piece : set) forest_.innermost[piece] = loop;
        }
        regions_.push_back({std::move(set), loop});
    }

    /// Where a set is entered. `set`: in order.
    std::vector<std::size_t> heads_of(const std::vector<std::size_t>& set) const {
        const auto within = [&](std::size_t piece) { return std::ranges::binary_search(set, piece); };
        std::vector<std::size_t> heads;
        for (const std::size_t piece : set)
            if (graph_.entered[piece] || !std::ranges::all_of(before_[piece], within)) heads.push_back(piece);
        if (!heads.empty()) return heads;
        const auto first = std::ranges::find_if(set, [&](std::size_t piece) {
            return std::ranges::any_of(before_[piece], [&](std::size_t from) { return from >= piece && within(from); });
        });
        return {first == set.end() ? set.front() : *first};
    }

    static constexpr unsigned deepest = 100;

    const FlowGraph& graph_;
    std::vector<std::vector<std::size_t>> before_;
    std::vector<std::size_t> region_;  ///< of each piece: that it was put into last
    std::vector<bool> cut_;  ///< of each piece: it is where a set is entered, and no way to it counts any more
    std::vector<Seen> seen_;
    std::vector<Region> regions_;
    LoopForest forest_;
};

}  // namespace

LoopForest find_loops(const FlowGraph& graph) { return TakingApart(graph).forest(); }

}  // namespace tmaprobe::experiments
