#include "counters/fit.h"

#include <gtest/gtest.h>

namespace tmaprobe::counters {
namespace {

using events::PmuFormat;

PlannedEvent event(std::uint64_t config, const std::string& counters = {}, std::uint64_t config1 = 0) {
    PlannedEvent planned{"e" + std::to_string(config), {}, false};
    planned.definition.config = config;
    planned.definition.config1 = config1;
    planned.definition.counters = counters;
    return planned;
}

PmuLimits limits(int general, int fixed = 0, bool slots = false) {
    PmuLimits made;
    made.general_counters = general;
    made.fixed_counters = fixed;
    made.has_slots = slots;
    return made;
}

TEST(Fit, CountsGeneralPurposeCounters) {
    const std::vector<PlannedEvent> six(6, event(0x1c1)), seven(7, event(0x1c1));
    EXPECT_TRUE(fits(six, limits(6), PmuFormat::amd));
    EXPECT_FALSE(fits(seven, limits(6), PmuFormat::amd));
    EXPECT_FALSE(fits(six, limits(5), PmuFormat::amd));
}

TEST(Fit, EventsWithoutAnEncodingAreToldApartByName) {
    PlannedEvent slots = event(0), cycles = event(0);
    slots.definition.name = "model.slots";
    cycles.definition.name = "model.cycles";
    EXPECT_FALSE(same_encoding(slots, cycles));
    EXPECT_TRUE(same_encoding(slots, slots));
    PlannedEvent renamed = event(0xc0), known = event(0xc0);
    renamed.definition.name = "r0c0";
    EXPECT_TRUE(same_encoding(renamed, known));
}

TEST(Fit, FixedCountersHoldTheirOwnEventOnce) {
    std::vector<PlannedEvent> events = {event(0x3c), event(0xc0), event(0x300)};
    for (int general = 0; general < 4; ++general) events.push_back(event(0x19c));
    EXPECT_TRUE(fits(events, limits(4, 3), PmuFormat::intel));
    events.push_back(event(0x3c));  // a second cycles event needs a general-purpose counter
    EXPECT_FALSE(fits(events, limits(4, 3), PmuFormat::intel));
    EXPECT_FALSE(fits({event(0x300), event(0x300)}, limits(4, 3), PmuFormat::intel));  // exists on fixed 2 only
    EXPECT_TRUE(fits({event(0x3c), event(0x3c)}, limits(4, 3), PmuFormat::intel));
}

TEST(Fit, TakenFixedCounterSendsItsEventToAGeneralOne) {
    auto taken = limits(4, 3);
    taken.fixed_taken = {1};
    std::vector<PlannedEvent> events = {event(0x3c)};
    for (int general = 0; general < 4; ++general) events.push_back(event(0x19c));
    EXPECT_TRUE(fits(events, limits(4, 3), PmuFormat::intel));
    EXPECT_FALSE(fits(events, taken, PmuFormat::intel));
}

TEST(Fit, MovesEarlierEventsOutOfTheWay) {
    // Unconstrained events come first and must not keep the constrained one off counter 0.
    EXPECT_TRUE(fits({event(0x19c), event(0x29c), event(0x8a4, "0")}, limits(3), PmuFormat::intel));
    EXPECT_FALSE(fits({event(0x4a4, "0"), event(0x8a4, "0")}, limits(8), PmuFormat::intel));
}

TEST(Fit, RetiredMemoryEventsShareFourCountersFromIceLakeOn) {
    std::vector<PlannedEvent> events(5, event(0x81d0));
    EXPECT_FALSE(fits(events, limits(8, 3, true), PmuFormat::intel));
    EXPECT_TRUE(fits(events, limits(8, 3, false), PmuFormat::intel));
    events.pop_back();
    events.push_back(event(0x19c));
    EXPECT_TRUE(fits(events, limits(8, 3, true), PmuFormat::intel));
}

TEST(Fit, ExtraRegistersHoldOneValueEachOffCoreTwo) {
    const auto frontend = [](std::uint64_t value) { return event(0x1c6, "", value); };
    EXPECT_TRUE(fits({frontend(1), frontend(1)}, limits(8), PmuFormat::intel));
    EXPECT_FALSE(fits({frontend(1), frontend(2)}, limits(8), PmuFormat::intel));
    const auto offcore = [](std::uint64_t value) { return event(0x1b7, "", value); };
    EXPECT_TRUE(fits({offcore(1), offcore(2)}, limits(8), PmuFormat::intel));
    EXPECT_FALSE(fits({offcore(1), offcore(2), offcore(3)}, limits(8), PmuFormat::intel));
    const auto latency = [](std::uint64_t value) { return event(0x1cd, "", value); };
    EXPECT_FALSE(fits({latency(3), latency(4)}, limits(8), PmuFormat::intel));
}

TEST(Fit, TopdownEventsUseNoCounterButSlotsDoes) {
    std::vector<PlannedEvent> events = {event(0x400), event(0x8000), event(0x8100), event(0x8200), event(0x8300)};
    EXPECT_TRUE(fits(events, limits(0, 3, true), PmuFormat::intel));
    EXPECT_FALSE(fits(events, limits(8, 3, false), PmuFormat::intel));  // no slots counter
    events.push_back(event(0x400));
    EXPECT_FALSE(fits(events, limits(8, 3, true), PmuFormat::intel));
}

TEST(Fit, AmdFlopEventTakesTwoCounters) {
    EXPECT_TRUE(fits({event(0xf03), event(0xf03), event(0xf03)}, limits(6), PmuFormat::amd));
    EXPECT_FALSE(fits({event(0xf03), event(0xf03), event(0xf03), event(0x76)}, limits(6), PmuFormat::amd));
    EXPECT_TRUE(fits({event(0x100000003), event(0x76)}, limits(2), PmuFormat::amd));  // 0x103 is another event
}

TEST(Fit, ArmCyclesHaveACounterOfTheirOwn) {
    std::vector<PlannedEvent> events(6, event(0x08));
    events.push_back(event(0x11));
    EXPECT_TRUE(fits(events, limits(6, 1), PmuFormat::arm));
    EXPECT_FALSE(fits(events, limits(6, 0), PmuFormat::arm));
}

TEST(Fit, NothingIsTooMuchForAModel) {
    const std::vector<PlannedEvent> many(200, event(0x8a4, "0"));
    EXPECT_TRUE(fits(many, limits(1 << 16, 1 << 16, true), PmuFormat::intel));
}

}  // namespace
}  // namespace tmaprobe::counters
