#include "report/sampling_line.h"

#include <gtest/gtest.h>

namespace tmaprobe::report {
namespace {

record::Event event(const std::string& name, double value) {
    record::Event made;
    made.name = name;
    made.pmu = "cpu";
    made.config = "0x1";
    made.reading = {value, static_cast<std::uint64_t>(value), 1, 1};
    return made;
}

record::Run run_of_a_command(std::vector<std::string> words) {
    record::Run run;
    run.kernel = "command";
    run.parameters.command = std::move(words);
    return run;
}

std::string line(const record::Run& run, const std::string& typed = "tmaprobe") {
    record::Record record;
    record.command_line = typed;
    return sampling_line(record, run, event("misses", 1));
}

TEST(SamplingLine, IsOfTheCommandItself) {
    EXPECT_EQ(line(run_of_a_command({"sh", "-c", "echo 'x y'"}), "tmaprobe --json r.json -- sh -c 'echo x'"),
              "perf record -e cpu/config=0x1/ -c 200003 -- sh -c 'echo '\\''x y'\\'''");
}

TEST(SamplingLine, IsOfTheProcessOrTheCpusThatWereCounted) {
    auto run = run_of_a_command({});
    EXPECT_EQ(line(run), "perf record -e cpu/config=0x1/ -c 200003 -a -- sleep 10");
    run.parameters.cpus = {0, 3};
    EXPECT_EQ(line(run), "perf record -e cpu/config=0x1/ -c 200003 -C 0,3 -- sleep 10");
    run.parameters.pid = 4711;
    EXPECT_EQ(line(run), "perf record -e cpu/config=0x1/ -c 200003 -p 4711 -- sleep 10");
}

TEST(SamplingLine, OverwritesNoFileOfTheUser) {
    record::Run run;
    run.kernel = "chase";
    EXPECT_EQ(line(run, "tmaprobe --kernel chase --json r.json -o out.txt --format=html --size 16M"),
              "perf record -e cpu/config=0x1/ -c 200003 -- tmaprobe --kernel chase --size 16M --source none");
}

TEST(SamplingLine, SamplesWhatMakesTheNodeLarger) {
    record::Run run;
    run.events = {event("waits", 60), event("waits_for_loads", 40), event("slots", 100)};
    record::Metric memory, core;
    memory.name = "memory";
    memory.formula = "d_ratio(waits, slots) * d_ratio(waits_for_loads, waits)";
    core.name = "core";
    core.formula = "d_ratio(waits, slots) * (1 - d_ratio(waits_for_loads, waits))";
    ASSERT_TRUE(event_to_sample(run, memory));
    EXPECT_EQ(event_to_sample(run, memory)->name, "waits_for_loads");
    ASSERT_TRUE(event_to_sample(run, core));
    EXPECT_EQ(event_to_sample(run, core)->name, "waits");
    core.formula = "1 - d_ratio(waits_for_loads, slots)";
    EXPECT_FALSE(event_to_sample(run, core)) << "there is only what makes it smaller";
    core.formula = "waits / of_what_nobody_counted";
    EXPECT_TRUE(event_to_sample(run, core));
    core.formula = "waits /";
    EXPECT_FALSE(event_to_sample(run, core));
}

}  // namespace
}  // namespace tmaprobe::report
