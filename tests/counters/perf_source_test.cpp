#include "counters/perf/perf.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "machine/perf_access.h"
#include "tests/counters/command_workload.h"

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t task_clock = 1, page_faults = 2, context_switches = 3;

PlannedEvent software(const std::string& name, std::uint64_t config) {
    PlannedEvent event{name, {}, false};
    event.definition.name = name;
    event.definition.pmu = "software";
    event.definition.config = config;
    return event;
}

Plan plan_of(std::vector<PlannedEvent> events) {
    Plan plan;
    Pass pass;
    for (auto& event : events) pass.groups.push_back({"software", {event}});
    plan.passes.push_back(pass);
    return plan;
}

std::size_t open_files() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

/// Touches `iterations` fresh pages: exactly as many page faults.
struct TouchPages final : Workload {
    /// Without checks: the sanitizer's shadow of a page would fault too.
    __attribute__((no_sanitize("address"))) void run(std::uint64_t iterations) override {
        const std::size_t bytes = iterations * 4096;
        auto* memory = static_cast<char*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        ::madvise(memory, bytes, MADV_NOHUGEPAGE);
        for (std::size_t page = 0; page < iterations; ++page) memory[page * 4096] = 1;
        ::munmap(memory, bytes);
    }
};

/// Burns CPU in a second thread while the first waits.
struct OtherThread final : Workload {
    OtherThread() : thread([this] { work(); }) {
        while (!id) std::this_thread::yield();
    }
    ~OtherThread() override {
        stop = true;
        thread.join();
    }
    void work() {
        id = ::gettid();
        while (!stop) {
            if (!busy) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    void run(std::uint64_t) override {
        busy = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        busy = false;
    }
    std::vector<pid_t> threads() const override { return {id}; }
    std::atomic<pid_t> id = 0;
    std::atomic<bool> stop = false, busy = false;
    std::thread thread;
};

class PerfSource : public testing::Test {
  protected:
    void SetUp() override {
        auto made = make_source({Scope::Kind::this_thread, 0, {}});
        ASSERT_TRUE(made);
        const auto prepared = (*made)->prepare(plan_of({software("task-clock", task_clock)}));
        if (!prepared) GTEST_SKIP() << "no software events here: " << prepared.error().what;
    }

    static Result<Sample> measure(const Scope& scope, const Plan& plan, Workload& workload,
                                  std::uint64_t iterations = 1, const PerfOptions& options = {}) {
        auto source = TRY(make_source(scope, options));
        TRY((source)->prepare(plan));
        return (source)->measure(workload, {0, 0, iterations});
    }

    const Scope thread{Scope::Kind::this_thread, 0, {}};
    const Scope command{Scope::Kind::command, 0, {}};

    /// Measures a shell script, which makes the file $started when it is ready for `interrupts` SIGINTs to us.
    Result<Sample> measure_interrupted(const std::string& script, int interrupts) {
        const auto started =
            std::filesystem::temp_directory_path() / ("tmaprobe_started_" + std::to_string(::getpid()));
        Command workload({"sh", "-c", "started='" + started.string() + "'; " + script});
        // Blocked before the thread starts, so that it cannot take the signal that is meant for this one.
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
        std::thread interrupter([self = ::getpid(), &started, interrupts] {
            for (int tries = 0; tries < 2000 && !std::filesystem::exists(started); ++tries)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            for (int sent = 0; sent < interrupts; ++sent) {
                ::kill(self, SIGINT);
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
            }
        });
        ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // the command must not inherit the mask
        auto sample = measure(command, plan_of({software("task-clock", task_clock)}), workload);
        interrupter.join();
        std::filesystem::remove(started);
        return sample;
    }
};

TEST_F(PerfSource, CountsPageFaultsOfARegionExactly) {
    TouchPages workload;
    workload.run(1);  // the code itself is in memory from here on
    const auto sample = measure(thread, plan_of({software("page-faults", page_faults)}), workload, 1000);
    ASSERT_TRUE(sample) << sample.error().what;
    ASSERT_EQ(sample->events.size(), 1u);
    EXPECT_EQ(sample->events[0].reading.raw, 1000u);
    EXPECT_EQ(sample->events[0].reading.value, 1000);
    EXPECT_GT(sample->events[0].reading.time_running_ns, 0u);
    EXPECT_EQ(sample->events[0].note, record::Note::none);
}

TEST_F(PerfSource, TellsOfEachIntervalWhileTheCommandRuns) {
    const auto ended = std::filesystem::temp_directory_path() / ("tmaprobe_ended_" + std::to_string(::getpid()));
    Command workload({"sh", "-c", "sleep 0.5; touch '" + ended.string() + "'"});
    std::vector<std::uint64_t> told;
    bool while_it_ran = false;
    PerfOptions options;
    options.interval_ms = 20;
    options.on_interval = [&](const Interval& interval) {
        told.push_back(interval.start_ns);
        while_it_ran = while_it_ran || !std::filesystem::exists(ended);
    };
    const auto sample = measure(command, plan_of({software("task-clock", task_clock)}), workload, 1, options);
    std::filesystem::remove(ended);
    ASSERT_TRUE(sample) << sample.error().what;
    ASSERT_EQ(told.size(), sample->series.size());
    for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], sample->series[i].start_ns);
    EXPECT_TRUE(while_it_ran);
}

TEST_F(PerfSource, CountsAProcessForAsLongAsItIsTold) {
    Command waits({});
    PerfOptions options;
    options.seconds = 0.2;
    const auto sample = measure({Scope::Kind::process, ::getppid(), {}}, plan_of({software("task-clock", task_clock)}),
                                waits, 1, options);
    if (!sample) GTEST_SKIP() << "the parent cannot be counted: " << sample.error().what;
    EXPECT_GE(sample->elapsed_ns, 200'000'000u);
    EXPECT_FALSE(sample->interrupted);
}

TEST_F(PerfSource, CountsOnlyTheRegionWhenMeasuredAgain) {
    auto source = make_source(thread);
    ASSERT_TRUE(source);
    ASSERT_TRUE((*source)->prepare(plan_of({software("page-faults", page_faults)})));
    TouchPages workload;
    workload.run(1);
    for (const std::uint64_t pages : {100u, 7u, 500u}) {
        const auto sample = (*source)->measure(workload, {0, 0, pages});
        ASSERT_TRUE(sample);
        EXPECT_EQ(sample->events[0].reading.raw, pages);
        workload.run(50);  // outside of a region
    }
}

TEST_F(PerfSource, SaysWhatStartAndStopCost) {
    TouchPages workload;
    const auto sample = measure(thread, plan_of({software("page-faults", page_faults)}), workload, 1);
    ASSERT_TRUE(sample && sample->perf && sample->perf->overhead);
    EXPECT_GT(sample->perf->overhead->pair_ns, 0.0);
    EXPECT_EQ(sample->perf->overhead->method, "ioctl");
    EXPECT_EQ(sample->perf->overhead->counts.at("page-faults"), 0.0);
}

TEST_F(PerfSource, CountsTheWorkloadsOtherThreads) {
    OtherThread workload;
    const auto sample = measure(thread, plan_of({software("task-clock", task_clock)}), workload);
    ASSERT_TRUE(sample);
    EXPECT_GT(sample->events[0].reading.raw, 2'000'000u);  // this thread slept; the other one burnt the time
}

TEST_F(PerfSource, CommandKeepsItsExitStatus) {
    for (const auto& [script, status] : std::vector<std::pair<std::string, int>>{
             {"exit 0", 0}, {"exit 7", 7}, {"kill -TERM $$", 128 + 15}, {"kill -SEGV $$", 128 + 11}}) {
        Command workload({"sh", "-c", script});
        const auto sample = measure(command, plan_of({software("task-clock", task_clock)}), workload);
        ASSERT_TRUE(sample) << sample.error().what;
        EXPECT_EQ(sample->exit_status, status) << script;
        EXPECT_GT(sample->events[0].reading.raw, 0u);
        EXPECT_GT(sample->elapsed_ns, 0u);
    }
}

TEST_F(PerfSource, CommandIsCountedWithItsChildren) {
    Command alone({"sh", "-c", ":"}),
        with_children({"sh", "-c", "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; :"});
    const auto plan = plan_of({software("task-clock", task_clock)});
    const auto small = measure(command, plan, alone), large = measure(command, plan, with_children);
    ASSERT_TRUE(small && large);
    EXPECT_GT(large->events[0].reading.raw, small->events[0].reading.raw + 20'000'000);
}

TEST_F(PerfSource, CommandInheritsNoneOfOurDescriptors) {
    const auto path = std::filesystem::temp_directory_path() / ("tmaprobe_fds_" + std::to_string(::getpid()));
    Command workload({"sh", "-c", "ls -l /proc/self/fd > " + path.string()});
    const auto sample = measure(command, plan_of({software("task-clock", task_clock)}), workload);
    ASSERT_TRUE(sample);
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        EXPECT_EQ(line.find("perf_event"), std::string::npos) << line;
        EXPECT_EQ(line.find("signalfd"), std::string::npos) << line;
    }
    std::filesystem::remove(path);
}

TEST_F(PerfSource, CommandKeepsTheSignalMask) {
    Command workload({"sh", "-c", "grep -q 'SigBlk:[[:space:]]*0000000000000000' /proc/self/status"});
    const auto sample = measure(command, plan_of({software("task-clock", task_clock)}), workload);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->exit_status, 0);
}

TEST_F(PerfSource, OpensMoreFilesThanTheSoftLimitAndLeavesTheLimitAsItWas) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit low = before;
    low.rlim_cur = open_files() + 8;
    if (low.rlim_cur + 64 > before.rlim_max) GTEST_SKIP() << "the hard limit of open files is as low as the soft one";
    std::vector<PlannedEvent> many(32, software("task-clock", task_clock));
    // The command sees the limit that the shell gave us, although counters are open beside it.
    Command workload({"sh", "-c", "test $(ulimit -n) = " + std::to_string(low.rlim_cur)});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const auto sample = measure(command, plan_of(many), workload);
    rlimit after{};
    ::getrlimit(RLIMIT_NOFILE, &after);
    ::setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 0);
    EXPECT_EQ(sample->events.size(), 32u);
    EXPECT_EQ(after.rlim_cur, low.rlim_cur);
}

/// Starts and ends threads all the time, for a while.
pid_t process_that_churns_threads() {
    const pid_t child = ::fork();
    if (child != 0) return child;
    for (int i = 0; i < 8; ++i)
        std::thread([] {
            for (;;) std::thread([] {}).join();
        }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    ::_exit(0);
}

TEST_F(PerfSource, CountsAProcessWhoseThreadsComeAndGo) {
    std::vector<PlannedEvent> events(6, software("task-clock", task_clock));
    for (int round = 0; round < 20; ++round) {
        const pid_t child = process_that_churns_threads();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        Command nothing({});
        const auto sample = measure({Scope::Kind::process, child, {}}, plan_of(events), nothing);
        ::waitpid(child, nullptr, 0);
        ASSERT_TRUE(sample) << "attempt " << round << ": " << sample.error().what;
        EXPECT_GT(sample->events[0].reading.raw, 0u);
    }
}

TEST_F(PerfSource, MissingProgramIsAnErrorAndLeavesNothingBehind) {
    const std::size_t before = open_files();
    Command workload({"/nonexistent/program"});
    const auto sample = measure(command, plan_of({software("task-clock", task_clock)}), workload);
    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().what.find("/nonexistent/program"), std::string::npos);
    EXPECT_EQ(open_files(), before);
}

TEST_F(PerfSource, InterruptHandsTheSignalOnAndKeepsTheCounts) {
    const auto sample = measure_interrupted("touch \"$started\"; exec sleep 30", 1);
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 128 + SIGINT);
    EXPECT_TRUE(sample->perf->interrupted);
    EXPECT_GT(sample->events[0].reading.raw, 0u);
}

TEST_F(PerfSource, SecondInterruptEndsACommandThatIgnoresTheFirst) {
    const auto sample = measure_interrupted("trap '' INT TERM; touch \"$started\"; exec sleep 30", 2);
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 128 + SIGINT);
    EXPECT_TRUE(sample->perf->interrupted);
    EXPECT_LT(sample->elapsed_ns, 25'000'000'000u);
}

TEST_F(PerfSource, CommandIsNotTheOneBeforeItsExec) {
    // Everything before exec (our own fork) is outside: a plain `true` takes a few hundred page faults at most.
    Command workload({"true"});
    const auto sample = measure(command, plan_of({software("page-faults", page_faults)}), workload);
    ASSERT_TRUE(sample);
    EXPECT_GT(sample->events[0].reading.raw, 20u);
    EXPECT_LT(sample->events[0].reading.raw, 1000u);
}

TEST_F(PerfSource, IntervalsAddUpToTheWhole) {
    Command workload({"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"});
    const auto sample =
        measure(command, plan_of({software("task-clock", task_clock), software("page-faults", page_faults)}), workload,
                1, {20, true});
    ASSERT_TRUE(sample);
    ASSERT_GE(sample->series.size(), 2u);
    std::uint64_t busy = 0, faults = 0, lasted = 0;
    for (const auto& step : sample->series) {
        ASSERT_EQ(step.events.size(), 2u);
        EXPECT_EQ(step.start_ns, lasted);
        busy += step.events[0].reading.raw;
        faults += step.events[1].reading.raw;
        lasted += step.duration_ns;
    }
    EXPECT_EQ(busy, sample->events[0].reading.raw);
    EXPECT_EQ(faults, sample->events[1].reading.raw);
    EXPECT_EQ(lasted, sample->elapsed_ns);
}

TEST_F(PerfSource, CountsARunningProcessWhileACommandRuns) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::execlp("sh", "sh", "-c", "while :; do :; done", nullptr);
        ::_exit(127);
    }
    Command workload({"sleep", "0.5"});
    const auto sample =
        measure({Scope::Kind::process, child, {}}, plan_of({software("task-clock", task_clock)}), workload);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_GT(sample->events[0].reading.raw, 10'000'000u);  // others may want the CPU too
}

TEST_F(PerfSource, EndsWithTheProcessThatItCounts) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::usleep(150'000);
        ::_exit(0);
    }
    std::thread reaper([child] { ::waitpid(child, nullptr, 0); });
    Command nothing({});
    const auto sample =
        measure({Scope::Kind::process, child, {}}, plan_of({software("task-clock", task_clock)}), nothing);
    reaper.join();
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_LT(sample->elapsed_ns, 5'000'000'000u);
}

TEST_F(PerfSource, CountsWholeCpus) {
    const auto access = machine::detect_perf_access();
    if (!access.cap_perfmon && access.paranoid > 0) GTEST_SKIP() << "whole CPUs need CAP_PERFMON or paranoid 0";
    Command workload({"sleep", "0.1"});
    const auto sample =
        measure({Scope::Kind::cpus, 0, {::sched_getcpu()}}, plan_of({software("cpu-clock", 0)}), workload);
    ASSERT_TRUE(sample) << sample.error().what;
    // Opening, starting and stopping on a busy machine lies outside of one of the two.
    EXPECT_GT(static_cast<double>(sample->events[0].reading.raw), 9e7);
    EXPECT_LT(static_cast<double>(sample->events[0].reading.raw), 1.5 * static_cast<double>(sample->elapsed_ns));
}

TEST_F(PerfSource, UnknownProcessIsSaid) {
    Command nothing({});
    const auto sample =
        measure({Scope::Kind::process, 0x3fffff, {}}, plan_of({software("task-clock", task_clock)}), nothing);
    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().what.find("no process"), std::string::npos);
}

TEST_F(PerfSource, EventThatTheMachineLacksIsNamedWhileOthersCount) {
    auto plan = plan_of({software("task-clock", task_clock), software("made-up", 9999)});
    Command workload({"true"});
    const auto sample = measure(command, plan, workload);
    ASSERT_TRUE(sample) << sample.error().what;
    ASSERT_EQ(sample->events.size(), 2u);
    EXPECT_EQ(sample->events[0].note, record::Note::none);
    EXPECT_EQ(sample->events[1].note, record::Note::not_supported);
    EXPECT_EQ(sample->events[1].reading.time_running_ns, 0u);
    ASSERT_FALSE(sample->warnings.empty());
    EXPECT_EQ(sample->warnings[0].id, "not_supported");
}

TEST_F(PerfSource, NoEventAtAllIsAnErrorWithARemedy) {
    const auto source = make_source(thread);
    const auto prepared = (*source)->prepare(plan_of({software("made-up", 9999)}));
    ASSERT_FALSE(prepared);
    EXPECT_FALSE(prepared.error().hint.empty());
}

/// The run's own clocks, as formulas name them.
PlannedEvent clock_event(const std::string& name, const std::string& pmu, std::uint64_t config) {
    PlannedEvent event = software(name, config);
    event.definition.pmu = pmu;
    event.key.emplace();
    event.key->pmu = pmu;
    event.key->config = config;
    return event;
}

TEST_F(PerfSource, DurationAndTimeStampComeFromTheRunsOwnClock) {
    const auto plan = plan_of({software("page-faults", page_faults), clock_event("duration_time", "tool", 1),
                               clock_event("msr@tsc@", "msr", 0)});
    OtherThread region;
    Command sleeping({"sleep", "0.05"});
    double rates[2] = {};
    for (Workload* workload : std::initializer_list<Workload*>{&region, &sleeping}) {
        const bool in_process = workload == &region;
        const auto sample = measure(in_process ? thread : command, plan, *workload);
        ASSERT_TRUE(sample) << sample.error().what;
        ASSERT_EQ(sample->events.size(), 3u);
        const auto& duration = sample->events[1];
        EXPECT_EQ(duration.reading.value, static_cast<double>(sample->elapsed_ns))
            << "a sleeping thread's time passes too";
        EXPECT_EQ(duration.note, record::Note::none);
#if defined(__x86_64__)
        const auto& ticks = sample->events[2];
        EXPECT_EQ(ticks.note, record::Note::none);
        EXPECT_EQ(ticks.reading.time_running_ns, sample->elapsed_ns);
        rates[in_process] = ticks.reading.value / duration.reading.value;
        EXPECT_GT(rates[in_process], 0.1);
#endif
    }
    EXPECT_NEAR(rates[0], rates[1], 0.01 * rates[1]) << "one counter's rate, whatever ran";
}

TEST_F(PerfSource, IntervalsHaveTheirOwnDuration) {
    Command workload({"sleep", "0.1"});
    const auto sample =
        measure(command, plan_of({software("page-faults", page_faults), clock_event("duration_time", "tool", 1)}),
                workload, 1, {20, true});
    ASSERT_TRUE(sample);
    ASSERT_GE(sample->series.size(), 2u);
    for (const auto& step : sample->series) EXPECT_EQ(step.events[1].reading.raw, step.duration_ns);
}

TEST_F(PerfSource, GroupsAreNumberedOverTheWholePlan) {
    auto plan = plan_of({software("task-clock", task_clock), software("page-faults", page_faults)});
    plan.passes.push_back(plan_of({software("context-switches", context_switches)}).passes[0]);
    auto source = make_source(thread);
    ASSERT_TRUE((*source)->prepare(plan));
    TouchPages workload;
    const auto first = (*source)->measure(workload, {0, 0, 1}), second = (*source)->measure(workload, {1, 0, 1});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->events[1].group, 1);
    EXPECT_EQ(second->events[0].group, 2);
    EXPECT_EQ(second->events[0].pass, 1);
}

TEST_F(PerfSource, ClosesEverything) {
    const std::size_t before = open_files();
    {
        TouchPages workload;
        ASSERT_TRUE(measure(thread, plan_of({software("task-clock", task_clock)}), workload, 1));
        Command command_workload({"true"});
        ASSERT_TRUE(measure(command, plan_of({software("task-clock", task_clock)}), command_workload, 1));
    }
    EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace tmaprobe::counters::perf
