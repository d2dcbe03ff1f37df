// Which loops are sent round from the micro-op queue, and where that ends.

#include "model/core/loop_stream.h"

#include <gtest/gtest.h>

#include <vector>

namespace tmaprobe::model::core {
namespace {

struct Branch {
    std::uint64_t address, target;
    unsigned windows = 1;
};

constexpr events::LoopStreaming facts{
    .blocks = 4, .line_branches = 2, .after_branches = 6, .after_rounds = 1, .branches_a_cycle = 3};

/// Goes round so often; whether any branch left what was sent.
bool goes_round(LoopStream& stream, const std::vector<Branch>& round, std::size_t times) {
    bool left = false;
    for (std::size_t i = 0; i < times; ++i)
        for (const Branch& branch : round) left |= stream.leaves(branch.address, true, branch.target, branch.windows);
    return left;
}

bool streams(const std::vector<Branch>& round, std::size_t times = 50) {
    LoopStream stream(facts);
    EXPECT_FALSE(goes_round(stream, round, times));
    return stream.streams();
}

TEST(LoopStream, IsSentAfterSoManyBranchesAndRounds) {
    EXPECT_FALSE(streams({{0x1000, 0x900}}, 7));
    EXPECT_TRUE(streams({{0x1000, 0x900}}, 8)) << "one to know it, six, and one round";
    const std::vector<Branch> two{{0x1000, 0x2000}, {0x2040, 0x900}};
    EXPECT_FALSE(streams(two, 4));
    EXPECT_TRUE(streams(two, 5)) << "two to know it, six, and one round of two";
}

TEST(LoopStream, HasSoManyBlocksAndSoManyBranchesInALine) {
    EXPECT_TRUE(streams({{0x1000, 0x900, 4}}));
    EXPECT_FALSE(streams({{0x1000, 0x900, 5}})) << "too many windows";
    std::vector<Branch> apart;
    for (std::uint64_t i = 0; i < 4; ++i) apart.push_back({0x1000 + 0x40 * i, 0x1030 + 0x40 * i});
    EXPECT_TRUE(streams(apart));
    apart.push_back({0x2000, 0x1000});
    EXPECT_FALSE(streams(apart)) << "too many branches";
    EXPECT_TRUE(streams({{0x1000, 0x1008}, {0x1010, 0x900}}));
    EXPECT_FALSE(streams({{0x1000, 0x1008}, {0x1010, 0x1018}, {0x1020, 0x900}})) << "too many in a line";
}

TEST(LoopStream, ALoopInALoopIsOneRoundWhereBothAreShort) {
    const Branch inner{0x1000, 0x900}, outer{0x1100, 0x800};
    EXPECT_TRUE(streams({inner, inner, inner, outer}));
    EXPECT_FALSE(streams({inner, inner, inner, inner, outer}));
}

TEST(LoopStream, EndsWhereABranchGoesAnotherWay) {
    const std::vector<Branch> round{{0x1000, 0x2000}, {0x2040, 0x900}};
    LoopStream stream(facts);
    goes_round(stream, round, 20);
    EXPECT_FALSE(stream.leaves(0x1500, false, 0x1506, 1)) << "none that is taken in the loop";
    EXPECT_TRUE(stream.streams());
    EXPECT_TRUE(stream.leaves(0x1000, false, 0x1006, 1)) << "its next one is not taken";
    EXPECT_FALSE(stream.streams());

    goes_round(stream, round, 20);
    EXPECT_TRUE(stream.leaves(0x1000, true, 0x3000, 1)) << "another target";
    goes_round(stream, round, 20);
    EXPECT_TRUE(stream.leaves(0x1200, true, 0x3000, 1)) << "one that was not taken in the loop";
    EXPECT_FALSE(stream.streams());
    EXPECT_FALSE(stream.leaves(0x1000, false, 0x1006, 1)) << "nothing is sent";
}

TEST(LoopStream, IsNoneWhereTheCoreHasNone) {
    LoopStream stream({});
    EXPECT_FALSE(goes_round(stream, {{0x1000, 0x900}}, 100));
    EXPECT_FALSE(stream.streams());
}

}  // namespace
}  // namespace tmaprobe::model::core
