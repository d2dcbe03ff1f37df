#include "model/core/ports.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace tmaprobe::model::core {
namespace {

// Two schedulers of two ports each, and one of one.
const std::vector<std::uint64_t> groups{0b00011, 0b01100, 0b10000};

TEST(Ports, AMicroOpIsBoundToPortsOfOneScheduler) {
    Ports ports(false, {}, groups);
    for (int i = 0; i < 10; ++i) {
        const std::uint64_t bound = ports.bound(0b01110);
        EXPECT_TRUE(bound == 0b00010 || bound == 0b01100) << bound;
    }
    EXPECT_EQ(ports.bound(0b10000), 0b10000U);
    EXPECT_EQ(ports.bound(0b100000), 0b100000U) << "which no scheduler has";
}

TEST(Ports, AmongEqualsSchedulersTakeTurns) {
    Ports ports(false, {}, {1, 2, 4, 8});
    std::array<std::uint64_t, 4> first{};
    for (std::uint64_t round = 0; round < 8; ++round)
        for (std::uint64_t& bound : first) {
            const std::uint64_t now = ports.bound(15);
            if (round) EXPECT_EQ(now, bound) << "in round " << round;
            bound = now;
            ports.take(now, round);
        }
    EXPECT_EQ(first[0] | first[1] | first[2] | first[3], 15U);
}

TEST(Ports, TheLeastLoadedIsTakenAndWhatIsOverLoadsNobody) {
    Ports ports(false, {}, groups);
    for (int i = 0; i < 20; ++i) ports.take(0b00011, 10);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ports.bound(0b01111), 0b01100U);
    ports.advance(200);
    EXPECT_NE(ports.bound(0b01111), ports.bound(0b01111));
}

TEST(Ports, AGroupThatTookOneIsClosedUntilTheNextCycle) {
    Ports ports(false, {}, groups);
    EXPECT_EQ(ports.open(0b01110, 7), 0b01110U);
    ports.close(0b00010, 7);
    EXPECT_EQ(ports.open(0b01110, 7), 0b01100U) << "the other port of that group is closed, too";
    ports.close(0b01000, 7);
    EXPECT_EQ(ports.open(0b01111, 7), 0U);
    EXPECT_EQ(ports.open(0b01111, 8), 0b01111U);
    ports.close(0b00001, 8);
    EXPECT_EQ(ports.open(0b01111, 8), 0b01100U) << "what was taken in the cycle before is forgotten";
    EXPECT_EQ(ports.open(0b100000, 8), 0b100000U) << "which no scheduler has";
}

/// Two cycles old, of two ports: the least loaded in slots 0 and 2, the other in slot 1.
PortChoice choice_of_two(unsigned difference) {
    PortChoice choice;
    choice.counts_age = 2;
    choice.difference = difference;
    choice.places[2] = {0, 1, 0};
    return choice;
}

TEST(Ports, WhereSlotsChooseEachHasItsPlaceAmongTheLeastLoaded) {
    Ports ports(false, choice_of_two(100));
    for (std::uint64_t i = 0; i < 3; ++i) ports.take(1, 20);
    const auto bound = [&](std::size_t slot) { return ports.bound_in_slot(3, slot); };
    EXPECT_EQ(bound(0), 2U) << "of equals the last";
    EXPECT_EQ(bound(1), 1U);
    ports.advance(1);
    EXPECT_EQ(bound(1), 1U) << "what was bound in the cycle before is not known yet";
    ports.advance(2);
    EXPECT_EQ(bound(0), 2U);
    EXPECT_EQ(bound(1), 1U);
    EXPECT_EQ(bound(2), 2U);
    ports.take(2, 20);
    ports.take(2, 20);
    ports.take(2, 20);
    ports.take(2, 20);
    ports.advance(3);
    EXPECT_EQ(bound(0), 2U) << "by what was known two cycles ago";
    ports.advance(4);
    EXPECT_EQ(bound(0), 1U);
    EXPECT_EQ(bound(1), 2U);
    EXPECT_TRUE(ports.chooses_among(3));
    EXPECT_FALSE(ports.chooses_among(7));
}

TEST(Ports, OneThatIsFarMoreLoadedThanTheLeastIsNotChosen) {
    Ports ports(false, choice_of_two(5));
    for (std::uint64_t i = 0; i < 5; ++i) ports.take(1, 20);
    ports.advance(2);
    EXPECT_EQ(ports.bound_in_slot(3, 1), 2U);
    ports.advance(23);
    ports.advance(25);
    EXPECT_EQ(ports.bound_in_slot(3, 1), 1U) << "when two are left";
}

TEST(Ports, NothingWaitsOnceAllIsLongPast) {
    Ports ports(false, choice_of_two(5));
    for (std::uint64_t i = 0; i < 20; ++i) ports.take(2, 70);
    ports.advance(100'000);
    ports.advance(100'002);
    EXPECT_EQ(ports.bound_in_slot(3, 0), 2U) << "both are empty, and the last is the first of equals";
    EXPECT_EQ(ports.bound_in_slot(3, 1), 1U);
}

TEST(Ports, OneThatIsNotBoundTakesWhicheverIsFreeFirst) {
    Ports ports;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ports.take(0b1, 5), 5U + static_cast<unsigned>(i));
    EXPECT_EQ(ports.take(0b11, 5), 5U);
    EXPECT_EQ(ports.take(0b11, 5), 6U);
}

}  // namespace
}  // namespace tmaprobe::model::core
