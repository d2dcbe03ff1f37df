#include "machine/event_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace tmaprobe::machine {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A sysfs and a tracefs of files.
class EventSources : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* pmu : {"uncore_imc_0", "uncore_imc_1"}) {
            write(pmu, "type", "20");
            write(pmu, "cpumask", "0,8");
            write(pmu, "format/event", "config:0-7");
            write(pmu, "format/umask", "config:8-15");
            write(pmu, "format/wide", "config1:0-3,60-63");
            write(pmu, "events/cas_count_read", "event=0x04,umask=0x03");
            write(pmu, "events/cas_count_read.scale", "6.103515625e-5");
            write(pmu, "events/cas_count_read.unit", "MiB");
        }
        write("power", "type", "21");
        write("power", "cpumask", "0");
        write("cpu", "type", "4");
        write("cpu_core", "cpus", "0-3");
        write("msr", "type", "10");
        write("tracing/sched/sched_switch", "id", "316");
        write("tracing/sched/sched_wakeup", "id", "318");
    }
    void TearDown() override { fs::remove_all(root_); }
    void write(const fs::path& folder, const fs::path& file, const std::string& text) const {
        const fs::path path = root_ / folder / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text << "\n";
    }

    const fs::path root_ = fs::temp_directory_path() / ("tmaprobe_sources_" + std::to_string(::getpid()));
};

TEST_F(EventSources, PmusAreNamedAsInPerf) {
    EXPECT_THAT(pmus_named("uncore_imc", root_), ElementsAre("uncore_imc_0", "uncore_imc_1"));
    EXPECT_THAT(pmus_named("imc", root_), ElementsAre("uncore_imc_0", "uncore_imc_1"));
    EXPECT_THAT(pmus_named("uncore_imc_1", root_), ElementsAre("uncore_imc_1"));
    EXPECT_THAT(pmus_named("imc_0", root_), ElementsAre("uncore_imc_0"));
    for (const char* none : {"im", "cpu", "cpu_core", "uncore", ""})
        EXPECT_THAT(pmus_named(none, root_), ElementsAre()) << none;
}

TEST_F(EventSources, EventsAreEncodedByTheirPmusFormat) {
    const auto event = sourced_event("uncore_imc_0", {"cas_count_read"}, root_);
    ASSERT_TRUE(event) << event.error().what;
    EXPECT_EQ(event->config, 0x304u);
    EXPECT_EQ(event->unit, "MiB");
    EXPECT_DOUBLE_EQ(event->scale, 6.103515625e-5);
    const auto fields = sourced_event("uncore_imc_1", {"event=0xff", "umask=2", "wide=0x21", "config2=7"}, root_);
    ASSERT_TRUE(fields) << fields.error().what;
    EXPECT_EQ(fields->config, 0x2ffu);
    EXPECT_EQ(fields->config1, 0x2000000000000001u);
    EXPECT_EQ(fields->config2, 7u);
    EXPECT_EQ(fields->unit, "");
}

TEST_F(EventSources, WhatAPmuHasNotIsRefused) {
    for (const char* term : {"cas_count_raed", "nonesuch=1", "event=0x100", "event=zero", "../cpumask", ""}) {
        const auto event = sourced_event("uncore_imc_0", {term}, root_);
        EXPECT_FALSE(event) << term;
    }
    EXPECT_THAT(sourced_event("uncore_imc_0", {"cas_count_raed"}, root_).error().hint, HasSubstr("cas_count_read"));
}

TEST_F(EventSources, SystemWideOnesNameTheirCpus) {
    EXPECT_THAT(system_wide_cpus("uncore_imc_0", root_), ElementsAre(0, 8));
    EXPECT_THAT(system_wide_cpus("msr", root_), ElementsAre());
    EXPECT_THAT(system_wide_cpus("", root_), ElementsAre());
}

TEST_F(EventSources, TracepointsHaveNumbers) {
    const std::vector<fs::path> roots{root_ / "nowhere", root_ / "tracing"};
    EXPECT_EQ(tracepoint_id("sched", "sched_switch", roots).value_or(0), 316u);
    const auto unknown = tracepoint_id("sched", "sched_swich", roots);
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().hint, HasSubstr("sched_switch"));
    EXPECT_EQ(tracepoint_id("nonesuch", "x", roots).error().code, ErrorCode::bad_usage);
    const auto nowhere = tracepoint_id("sched", "sched_switch", {root_ / "nowhere"});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::unavailable);
    EXPECT_THAT(nowhere.error().hint, HasSubstr("mount -t tracefs"));
}

TEST(CacheEvents, AreNamedAsInPerf) {
    EXPECT_EQ(cache_event("L1-dcache-loads"), 0x0u);
    EXPECT_EQ(cache_event("L1-dcache-load-misses"), 0x10000u);
    EXPECT_EQ(cache_event("LLC-load-misses"), 0x10002u);
    EXPECT_EQ(cache_event("LLC-stores"), 0x102u);
    EXPECT_EQ(cache_event("dTLB-load-misses"), 0x10003u);
    EXPECT_EQ(cache_event("L1-dcache-prefetch-misses"), 0x10200u);
    EXPECT_EQ(cache_event("node-prefetches"), 0x206u);
    for (const char* none : {"LLC", "LLC-load", "LLC-loads-misses", "L2-loads", "LLC-load-missess", ""})
        EXPECT_FALSE(cache_event(none)) << none;
}

}  // namespace
}  // namespace tmaprobe::machine
