#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace tmaprobe::experiments {

/// Pieces of code without a branch, in the order in which they lie in memory, and which of them were executed next.
struct FlowGraph {
    std::vector<std::vector<std::size_t>> next;  ///< of each piece
    std::vector<bool> entered;                   ///< of each piece: a function begins with it
};

/// Pieces that lead to each other and are entered at one of them, which is a natural loop; where they are in no other
/// loop, they may be entered at several.
struct FlowLoop {
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    std::size_t head = 0;       ///< the piece that it is entered at, the first in memory
    std::size_t around = none;  ///< the loop that it is directly in
    unsigned depth = 1;         ///< 1: in no other
};

struct LoopForest {
    std::vector<FlowLoop> loops;         ///< a loop comes after the one around it
    std::vector<std::size_t> innermost;  ///< of each piece: the loop that it is directly in, or FlowLoop::none
};

/// Every loop of the graph, to a depth of 100. Where nobody saw how a loop is entered, its head is the first piece in
/// memory that its own branches go back to.
LoopForest find_loops(const FlowGraph& graph);

}  // namespace tmaprobe::experiments
