#include "experiments/calibrate.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "base/file.h"
#include "events/geometry.h"
#include "experiments/calibrate_memory.h"
#include "experiments/calibration_file.h"
#include "experiments/clock_readings.h"
#include "experiments/memory_here.h"
#include "timing/core_probes.h"

namespace tmaprobe::experiments {
namespace {

namespace fs = std::filesystem;

/// A cache folder of this test's own.
class CalibrationFile : public testing::Test {
  protected:
    CalibrationFile() {
        fs::create_directories(folder_);
        ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
        host_.cpu_id = "GenuineIntel-6-8F-8";
        host_.cpu_model = "A CPU (of a test)";
        calibration_ = started_calibration(host_);
        calibration_.clock_hz = 3e9;
    }
    ~CalibrationFile() override { fs::remove_all(folder_); }

    const fs::path folder_ = fs::path(testing::TempDir()) / ("calibration" + std::to_string(::getpid()));
    machine::Host host_;
    record::Calibration calibration_;
};

TEST(SmallPagesHeld, AreThoseOfTheMachineElseOfTheTablesElseTheUsual) {
    constexpr std::uint64_t small = 4096, large = 2 << 20;
    machine::Host host;
    EXPECT_EQ(small_pages_held(2, host), 1024);
    EXPECT_EQ(small_pages_held(1, host), 64);
    events::CpuGeometry tables;
    tables.tlbs = {{1, events::Holds::instruction, {small}, 256, 8},
                   {1, events::Holds::data, {large}, 32, 4},
                   {1, events::Holds::data, {small}, 96, 6},
                   {2, events::Holds::unified, {small, large}, 2048, 16}};
    const auto complete = [&] { return events::with_geometry(host, events::host_geometry(tables)); };
    EXPECT_EQ(small_pages_held(2, complete()), 2048);
    EXPECT_EQ(small_pages_held(1, complete()), 96);
    host.tlbs = {{2, "unified", small, 1536, 12, "cpuid 18h"}};
    EXPECT_EQ(small_pages_held(2, complete()), 1536);
    EXPECT_EQ(small_pages_held(1, complete()), 96);
}

TEST(AddReading, OfTheLastFiveTheMedianIsTaken) {
    record::CalibratedFact fact{"others.l3", "ms", 0, 0, 0, 0, 0, ""};
    add_reading(2, fact);
    EXPECT_EQ(fact.value, 2);
    for (const double reading : {9.0, 3.0, 4.0, 0.3}) add_reading(reading, fact);
    EXPECT_EQ(std::tuple(fact.value, fact.low, fact.high, fact.clean), std::tuple(3, 0.3, 9, 5));
    // The 2 goes, a busy moment does not decide.
    add_reading(0.4, fact);
    EXPECT_EQ(fact.readings, (std::vector<double>{9, 3, 4, 0.3, 0.4}));
    EXPECT_EQ(fact.value, 3);
}

TEST(ReadOthersAgain, NeedsWhatIsHeldAndBeyondWhichTimeItIsNot) {
    std::vector<record::CalibratedFact> facts{{"others.l3", "ms", 2, 2, 2, 1, 0, ""},
                                              {"given.l3", "bytes", 4e6, 4e6, 4e6, 3, 0, ""}};
    const auto lacking = read_others_again(machine::detect(), {}, facts);
    ASSERT_TRUE(lacking);
    EXPECT_FALSE(*lacking);
    // No load is as quick as that: nothing is read, and the fact stays as it is.
    facts.push_back({"beyond.l3", "ns", 1e-9, 1e-9, 1e-9, 3, 0, ""});
    const auto never = read_others_again(machine::detect(), {}, facts);
    ASSERT_TRUE(never) << never.error().what;
    EXPECT_FALSE(*never);
    EXPECT_EQ(facts.front().value, 2);
    const auto interrupted = read_others_again(machine::detect(), [] { return true; }, facts);
    ASSERT_FALSE(interrupted);
    EXPECT_EQ(interrupted.error().code, ErrorCode::interrupted);
}

TEST_F(CalibrationFile, NoneIsNoError) {
    const auto found = find_calibration({}, host_);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->calibration);
    EXPECT_FALSE(found->warning);
}

TEST_F(CalibrationFile, IsFoundByTheCpuAndLeftOutWhenAskedTo) {
    ASSERT_TRUE(write_calibration(calibration_, calibration_path(host_)));
    const auto found = find_calibration({}, host_);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->calibration);
    const auto without = find_calibration({false, {}}, host_);
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->calibration);
    machine::Host other = host_;
    other.cpu_model = "another CPU";
    EXPECT_FALSE(find_calibration({}, other)->calibration);
}

TEST_F(CalibrationFile, ABrokenOneIsAWarningUnlessItWasNamed) {
    const auto path = calibration_path(host_);
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, "{}"));
    const auto found = find_calibration({}, host_);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->calibration);
    ASSERT_TRUE(found->warning);
    EXPECT_EQ(found->warning->id, "calibration_unusable");
    EXPECT_EQ(find_calibration({true, path.string()}, host_).error().code, ErrorCode::bad_input);
}

TEST_F(CalibrationFile, OfAnotherMachineIsRefused) {
    const fs::path path = folder_ / "mine.json";
    ASSERT_TRUE(write_calibration(calibration_, path));
    machine::Host other = host_;
    other.cpu_id = "AuthenticAMD-25-1-1";
    const auto found = find_calibration({true, path.string()}, other);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().what, testing::HasSubstr("this is A CPU (of a test) (AuthenticAMD-25-1-1)"));
}

TEST_F(CalibrationFile, OfMemoryHereIsKeptForAnHour) {
    const auto path = calibration_path(host_, "memory");
    EXPECT_NE(path, calibration_path(host_));
    record::Calibration found = started_calibration(host_);
    found.clock_hz = 3e9;
    found.facts = {{"size.l3", "bytes", 39e6, 31e6, 47e6, 7, 0, ""},
                   {"translation.large_page_walk", "share", 0.6, 0.5, 0.7, 3, 0, ""}};
    ASSERT_TRUE(write_calibration(found, path));
    const auto never = [] { return true; };  // interrupted: nothing is measured
    EXPECT_EQ(memory_here(host_, never).third_level.held_bytes, 39'000'000u);
    EXPECT_EQ(memory_here(host_, never).large_page_walk, 0.6);
    found.measured = measured_text(std::chrono::system_clock::now() - std::chrono::minutes(61));
    ASSERT_TRUE(write_calibration(found, path));
    EXPECT_EQ(memory_here(host_, never).third_level.held_bytes, 0u);
    EXPECT_EQ(memory_here(host_, never).large_page_walk, 0);
    // That nothing could be told is kept as well.
    found.facts.clear();
    found.measured = measured_text(std::chrono::system_clock::now());
    ASSERT_TRUE(write_calibration(found, path));
    EXPECT_EQ(memory_here(host_, {}).third_level.held_bytes, 0u);
    EXPECT_FALSE(find_calibration({}, host_)->calibration) << "it is no calibration of this CPU";
}

TEST(CalibrationFacts, EveryProbeIsInTheTable) {
    const auto facts = events::read_calibration_facts({});
    ASSERT_TRUE(facts) << facts.error().what;
    for (const timing::CoreProbe& probe : timing::core_probes()) {
        const auto* fact = events::find_fact(*facts, probe.fact);
        ASSERT_NE(fact, nullptr) << probe.fact;
        const bool latency = probe.tells == timing::CoreProbe::Tells::latency;
        EXPECT_EQ(fact->unit, latency ? "cycles" : "steps per cycle") << probe.fact;
    }
}

TEST(Calibrate, AnEmulatorIsRefused) {
    machine::Host host;
    host.is_emulated = true;
    const auto report = calibrate({}, host, {}, {});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace tmaprobe::experiments
