#include "model/layout_simulators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tmaprobe::model {
namespace {

using testing::UnorderedElementsAre;

TEST(RandomTurns, GiveEachOneTurnInEachRound) {
    RandomTurns turns(4, 1);
    std::set<std::vector<std::size_t>> orders;
    for (int round = 0; round < 50; ++round) {
        std::vector<std::size_t> order;
        for (int i = 0; i < 4; ++i) order.push_back(turns.next());
        EXPECT_THAT(order, UnorderedElementsAre(0, 1, 2, 3));
        orders.insert(order);
    }
    EXPECT_GT(orders.size(), 15u);  // of 24
}

TEST(RandomTurns, AreTheSameEachTime) {
    RandomTurns one(8, 5), other(8, 5);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(one.next(), other.next());
}

}  // namespace
}  // namespace tmaprobe::model
