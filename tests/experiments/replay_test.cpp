#include "experiments/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tmaprobe::experiments {
namespace {

/// Writes counts to a file of its own, replays it as Zen 4's level 1 and removes it.
Result<record::Record> replayed(const std::string& counts) {
    const auto path = std::filesystem::temp_directory_path() / ("tmaprobe_replay_" + std::to_string(::getpid()));
    std::ofstream(path) << counts;
    ReplayRequest request;
    request.files = {path};
    request.target = "amdzen4";
    auto record = replay(request);
    std::filesystem::remove(path);
    return record;
}

// As `perf stat -I 1000 -x,` prints it; perf starts every interval with blanks before the time.
constexpr const char* intervals =
    "     1.000269411,1000,,ls_not_halted_cyc,9900,100.00,,\n"
    "     1.000269411,1500,,cpu/config=0x100001ea0/,9900,100.00,,\n"
    "     2.000561231,1000,,ls_not_halted_cyc,9900,100.00,,\n"
    "     2.000561231,3000,,cpu/config=0x100001ea0/,9900,100.00,,\n";

TEST(Replay, GivesTheTreeOfEachIntervalAtItsTime) {
    const auto record = replayed(intervals);
    ASSERT_TRUE(record) << record.error().what;
    const auto& series = record->runs.at(0).extra.series;
    ASSERT_EQ(series.size(), 2u);
    EXPECT_DOUBLE_EQ(series[0].at_seconds, 1.000269411);
    EXPECT_DOUBLE_EQ(series[1].at_seconds, 2.000561231);
    EXPECT_DOUBLE_EQ(*series[0].metrics.at("backend_bound"), 0.25);
    EXPECT_DOUBLE_EQ(*series[1].metrics.at("backend_bound"), 0.5);
    EXPECT_FALSE(series[0].metrics.at("frontend_bound")) << "its event was not counted";
}

TEST(Replay, TheRunIsTheSumOfItsIntervals) {
    const auto record = replayed(intervals);
    ASSERT_TRUE(record) << record.error().what;
    for (const auto& metric : record->runs.at(0).metrics)
        if (metric.name == "backend_bound") EXPECT_DOUBLE_EQ(metric.value, 0.375);
}

TEST(Replay, OneIntervalIsNoSeries) {
    const auto record = replayed("1000,,ls_not_halted_cyc,9900,100.00,,\n");
    ASSERT_TRUE(record) << record.error().what;
    EXPECT_TRUE(record->runs.at(0).extra.series.empty());
}

}  // namespace
}  // namespace tmaprobe::experiments
