// Events that open on an Arm PMU, count 0 and are not implemented.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>

#include <filesystem>
#include <fstream>

#include "counters/perf/collect.h"
#include "machine/pmu_devices.h"

namespace tmaprobe::counters::perf {
namespace {

record::Event event_of(const std::string& config, std::uint64_t raw, std::uint64_t running_ns = 1000) {
    record::Event event;
    event.name = config;
    event.key.emplace().config = std::stoull(config, nullptr, 0);
    event.reading = {static_cast<double>(raw), raw, 1000, running_ns};
    return event;
}

TEST(UnimplementedEvents, AreThoseThatCountNothingAndAreNotListed) {
    const std::set<std::uint64_t> listed{0x08, 0x11, 0x23};
    std::vector<record::Event> events = {event_of("0x11", 5),   event_of("0x23", 0),   event_of("0x3f", 0),
                                         event_of("0x3e", 7),   event_of("0x4005", 0), event_of("0x80", 0),
                                         event_of("0x24", 0, 0)};
    note_unimplemented(events, listed);
    std::vector<std::string> noted;
    for (const auto& event : events)
        if (event.note == record::Note::not_implemented) noted.push_back(event.name);
    // Listed, counting, beyond what the PMU says of itself (0x80), never scheduled: none of these is noted.
    EXPECT_EQ(noted, (std::vector<std::string>{"0x3f", "0x4005"}));
    const auto warnings = warnings_of(events, Policy::passes);
    ASSERT_FALSE(warnings.empty());
    EXPECT_EQ(std::ranges::count(warnings, "not_implemented", &record::Warning::id), 1);
    std::vector<record::Event> unknown = {event_of("0x3f", 0)};
    note_unimplemented(unknown, {});
    EXPECT_EQ(unknown.front().note, record::Note::none) << "a PMU that lists nothing says nothing";
}

TEST(UnimplementedEvents, AreKnownFromWhatTheDriverLists) {
    const auto root = std::filesystem::temp_directory_path() / ("tmaprobe-pmu-" + std::to_string(::getpid()));
    for (const char* pmu : {"armv8_pmuv3_0", "cpu"}) std::filesystem::create_directories(root / pmu / "events");
    std::ofstream(root / "armv8_pmuv3_0/events/cpu_cycles") << "event=0x0011\n";
    std::ofstream(root / "armv8_pmuv3_0/events/stall_slot") << "event=0x003f\n";
    std::ofstream(root / "armv8_pmuv3_0/events/sample_pop") << "event=0x4000\n";
    std::ofstream(root / "armv8_pmuv3_0/events/odd") << "nothing\n";
    std::ofstream(root / "cpu/events/cpu-cycles") << "event=0x3c\n";
    machine::Pmu arm, intel;
    arm.name = "armv8_pmuv3_0";
    intel.name = "cpu";
    EXPECT_EQ(machine::listed_common_events(arm, root), (std::set<std::uint64_t>{0x11, 0x3f, 0x4000}));
    EXPECT_TRUE(machine::listed_common_events(intel, root).empty()) << "not Arm's events";
    std::filesystem::remove_all(root);
    EXPECT_TRUE(machine::listed_common_events(arm, root).empty());
}

}  // namespace
}  // namespace tmaprobe::counters::perf
