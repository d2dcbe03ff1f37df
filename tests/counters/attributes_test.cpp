#include "counters/perf/attributes.h"

#include <gtest/gtest.h>

namespace tmaprobe::counters::perf {
namespace {

perf_event_attr attributes_of(const std::string& modifiers, const std::string& pmu = "cpu", bool user = true,
                              bool kernel = false) {
    machine::Pmu core;
    core.name = "cpu";
    core.type = 4;
    PlannedEvent event{"event", {}, false};
    event.definition.pmu = pmu;
    event.definition.config = 0x3c;
    event.definition.modifiers = modifiers;
    CountingTarget target;
    target.user = user;
    target.kernel = kernel;
    const auto made = make_attributes(event, target, true, {core});
    EXPECT_TRUE(made);
    return made.value_or(perf_event_attr{});
}

TEST(Attributes, CountThePrivilegeLevelsOfTheRun) {
    for (const auto& [user, kernel] : {std::pair{true, false}, {true, true}, {false, true}}) {
        const auto attributes = attributes_of("", "cpu", user, kernel);
        EXPECT_EQ(attributes.exclude_user, !user);
        EXPECT_EQ(attributes.exclude_kernel, !kernel);
        EXPECT_EQ(attributes.exclude_hv, !kernel);
    }
}

TEST(Attributes, ModifiersOfAnEventSayWhoseInstructionsItMeans) {
    EXPECT_EQ(attributes_of("k").exclude_kernel, 0);
    EXPECT_EQ(attributes_of("k").exclude_user, 1);
    EXPECT_EQ(attributes_of("u", "cpu", true, true).exclude_kernel, 1);
    EXPECT_EQ(attributes_of("uk").exclude_user, 0);
    EXPECT_EQ(attributes_of("uk").exclude_kernel, 0);
    EXPECT_EQ(attributes_of("p").exclude_user, 0) << "precision says nothing of privilege";
    EXPECT_EQ(attributes_of("p").exclude_kernel, 1);
}

TEST(Attributes, SoftwareEventsCountForBothUnlessTheySay) {
    EXPECT_EQ(attributes_of("", "software").exclude_kernel, 0);
    EXPECT_EQ(attributes_of("u", "software").exclude_kernel, 1);
}

}  // namespace
}  // namespace tmaprobe::counters::perf
