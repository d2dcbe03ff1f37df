#include "experiments/loop_forest.h"

#include <gmock/gmock.h>

namespace tmaprobe::experiments {
namespace {

using testing::ElementsAre;
constexpr auto none = FlowLoop::none;

FlowGraph graph(std::vector<std::vector<std::size_t>> next, std::vector<std::size_t> entered = {}) {
    FlowGraph graph{std::move(next), {}};
    graph.entered.assign(graph.next.size(), false);
    for (const std::size_t piece : entered) graph.entered[piece] = true;
    return graph;
}

TEST(LoopForest, CodeWithoutABranchBackHasNone) {
    const auto forest = find_loops(graph({{1, 2}, {3}, {3}, {}}));
    EXPECT_TRUE(forest.loops.empty());
    EXPECT_THAT(forest.innermost, ElementsAre(none, none, none, none));
    EXPECT_TRUE(find_loops(graph({})).loops.empty());
}

TEST(LoopForest, APieceThatLeadsToItselfIsOne) {
    const auto forest = find_loops(graph({{1}, {1, 2}, {}}));
    ASSERT_EQ(forest.loops.size(), 1u);
    EXPECT_EQ(forest.loops[0].head, 1u);
    EXPECT_THAT(forest.innermost, ElementsAre(none, 0u, none));
}

TEST(LoopForest, LoopsInLoopsAreFoundToTheInnermost) {
    // 0 -> [1 -> [2 -> [3] -> 4] -> 5] -> 6, and a loop of its own in 5.
    const auto forest = find_loops(graph({{1}, {2}, {3}, {3, 4}, {2, 5}, {5, 1, 6}, {}}, {0}));
    ASSERT_EQ(forest.loops.size(), 4u);
    const auto depth_of = [&](std::size_t piece) { return forest.loops[forest.innermost[piece]].depth; };
    EXPECT_EQ(depth_of(1), 1u);
    EXPECT_EQ(depth_of(2), 2u);
    EXPECT_EQ(depth_of(3), 3u);
    EXPECT_EQ(depth_of(4), 2u);
    EXPECT_EQ(depth_of(5), 2u);
    EXPECT_EQ(forest.innermost[0], none);
    EXPECT_EQ(forest.innermost[6], none);
    EXPECT_NE(forest.innermost[5], forest.innermost[2]);
    for (std::size_t loop = 0; loop < forest.loops.size(); ++loop)
        EXPECT_TRUE(forest.loops[loop].around == none || forest.loops[loop].around < loop) << loop;
    EXPECT_EQ(forest.loops[forest.innermost[3]].around, forest.innermost[2]);
    EXPECT_EQ(forest.loops[forest.innermost[2]].around, forest.innermost[1]);
}

TEST(LoopForest, TwoWaysBackToOneHeadAreOneLoop) {
    const auto forest = find_loops(graph({{1}, {2, 3}, {1}, {1, 4}, {}}));
    ASSERT_EQ(forest.loops.size(), 1u);
    EXPECT_EQ(forest.loops[0].head, 1u);
}

TEST(LoopForest, ALoopThatIsEnteredAtItsEndHasItsHeadThere) {
    const auto forest = find_loops(graph({{2}, {2}, {1, 3}, {}}, {0}));
    ASSERT_EQ(forest.loops.size(), 1u);
    EXPECT_EQ(forest.loops[0].head, 2u);
}

TEST(LoopForest, AnInnerLoopThatLiesBeforeTheOuterOneIsNoneOfItsHeads) {
    // 1 is the inner loop; 3, which a function begins with, the outer one's head.
    const auto forest = find_loops(graph({{}, {1, 2}, {3}, {1, 4}, {}}, {3}));
    ASSERT_EQ(forest.loops.size(), 2u);
    EXPECT_EQ(forest.loops[0].head, 3u);
    EXPECT_EQ(forest.loops[1].head, 1u);
    EXPECT_EQ(forest.loops[1].around, 0u);
}

TEST(LoopForest, WhereNobodySawTheEntryTheFirstOfTheWaysBackIsTheHead) {
    const auto forest = find_loops(graph({{1}, {1, 2}, {0}}));
    ASSERT_EQ(forest.loops.size(), 2u);
    EXPECT_EQ(forest.loops[0].head, 0u);
    EXPECT_EQ(forest.loops[1].head, 1u);
}

TEST(LoopForest, ALoopWithTwoEntriesIsOneWhereItIsInNoOther) {
    const auto forest = find_loops(graph({{1, 2}, {2}, {1, 3}, {}}, {0}));
    ASSERT_EQ(forest.loops.size(), 1u);
    EXPECT_EQ(forest.loops[0].head, 1u);
    EXPECT_THAT(forest.innermost, ElementsAre(none, 0u, 0u, none));
}

// Each piece jumps to any other, as the operations of an interpreter do, and one has a loop of its own.
TEST(LoopForest, AnInterpreterIsOneLoopWithThoseOfItsOperationsInIt) {
    const auto forest =
        find_loops(graph({{1}, {1, 2, 3, 5}, {1, 2, 3, 5}, {4}, {4, 1, 2, 3, 5}, {1, 2, 3, 5, 6}, {}}, {0}));
    ASSERT_EQ(forest.loops.size(), 2u);
    EXPECT_EQ(forest.loops[0].head, 1u);
    EXPECT_EQ(forest.loops[1].head, 4u);
    EXPECT_EQ(forest.loops[1].around, 0u);
    EXPECT_THAT(forest.innermost, ElementsAre(none, 0u, 0u, 0u, 1u, 0u, none));
}

TEST(LoopForest, CodeThatIsABranchBackForEachPieceIsNotTakenApartForEver) {
    constexpr std::size_t pieces = 20'000;
    std::vector<std::vector<std::size_t>> next(pieces);
    for (std::size_t piece = 0; piece + 1 < pieces; ++piece) {
        next[piece].push_back(piece + 1);
        next[piece + 1].push_back(piece);
    }
    EXPECT_EQ(find_loops(graph(std::move(next), {0})).loops.size(), 100u);
}

TEST(LoopForest, LongCodeTakesNoStack) {
    constexpr std::size_t pieces = 300'000;
    std::vector<std::vector<std::size_t>> next(pieces);
    for (std::size_t piece = 0; piece < pieces; ++piece) next[piece] = {(piece + 1) % pieces};
    const auto forest = find_loops(graph(std::move(next), {0}));
    ASSERT_EQ(forest.loops.size(), 1u);
    EXPECT_EQ(forest.loops[0].head, 0u);
}

}  // namespace
}  // namespace tmaprobe::experiments
