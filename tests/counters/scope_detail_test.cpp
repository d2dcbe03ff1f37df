#include "counters/scope_detail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "counters/perf/perf.h"
#include "tests/counters/command_workload.h"

namespace tmaprobe::counters::perf {
namespace {

using namespace std::chrono_literals;

Plan task_clock() {
    PlannedEvent event{"task-clock", {}, false};
    event.definition.name = event.name;
    event.definition.pmu = "software";
    event.definition.config = 1;
    Plan plan;
    plan.passes.push_back({{{"software", {event}}}});
    return plan;
}

/// Works until it is ended.
pid_t busy_process() {
    const pid_t child = ::fork();
    if (child == 0)
        for (volatile unsigned work = 0;;) {
            work = work + 1;
        }
    return child;
}

class ScopeDetails : public testing::Test {
  protected:
    void SetUp() override {
        auto source = make_source({Scope::Kind::this_thread, 0, {}});
        ASSERT_TRUE(source);
        if (const auto possible = (*source)->prepare(task_clock()); !possible)
            GTEST_SKIP() << "no software events here: " << possible.error().what;
    }
    static Result<Sample> measure(const Scope& scope, const PerfOptions& options, std::vector<std::string> command) {
        auto source = TRY(make_source(scope, options));
        TRY(source->prepare(task_clock()));
        Command workload(std::move(command));
        return source->measure(workload, {0, 0, 1});
    }
    const Scope command{Scope::Kind::command, 0, {}};
    static constexpr const char* busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
};

TEST_F(ScopeDetails, EachOfSeveralGroupsIsCountedByItself) {
    const pid_t first = busy_process(), second = busy_process();
    PerfOptions options;
    options.seconds = 0.2;
    options.detail.further_pids = {second};
    options.detail.groups = {{first}, {second}, {first, second}, {}};
    const auto sample = measure({Scope::Kind::process, first, {}}, options, {});
    for (const pid_t child : {first, second}) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    ASSERT_TRUE(sample) << sample.error().what;
    ASSERT_EQ(sample->by_cpu.size(), 4u);
    const auto raw = [&](int group) { return sample->by_cpu.at(group).at(0).reading.raw; };
    EXPECT_GT(raw(0), 0u);
    EXPECT_GT(raw(1), 0u);
    EXPECT_EQ(raw(2), raw(0) + raw(1));
    EXPECT_EQ(raw(2), sample->events.at(0).reading.raw);
    EXPECT_EQ(sample->by_cpu.at(3).at(0).note, record::Note::not_counted);
}

TEST_F(ScopeDetails, WithADelayCountingBeginsLater) {
    PerfOptions options;
    options.detail.delay_ms = 400;
    const auto sample = measure(command, options, {"sleep", "1"});
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_GE(sample->elapsed_ns, 1'000'000'000u);  // of the whole run
    EXPECT_FALSE(sample->nothing_seen);
    const auto all = measure(command, {}, {"sleep", "1"});
    ASSERT_TRUE(all);
    // Starting is what `sleep` does; what is left is a moment at its end.
    EXPECT_LT(sample->events[0].reading.raw, all->events[0].reading.raw);
}

TEST_F(ScopeDetails, EndedBeforeTheDelayNothingIsCountedAndThatIsSaid) {
    PerfOptions options;
    options.detail.delay_ms = 3'600'000;
    const auto sample = measure(command, options, {"sh", "-c", "exit 3"});
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 3);
    EXPECT_TRUE(sample->nothing_seen);
    ASSERT_EQ(sample->warnings.size(), 1u);
    EXPECT_EQ(sample->warnings[0].id, "counting_never_began");
    EXPECT_EQ(sample->events[0].reading.raw, 0u);
}

/// The command itself says when it is to be counted.
TEST_F(ScopeDetails, AnotherProgramSaysWhenToCount) {
    const auto folder = std::filesystem::temp_directory_path() / ("tmaprobe_scope_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const std::string commands = folder / "commands", answers = folder / "answers";
    ASSERT_EQ(::mkfifo(commands.c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo(answers.c_str(), 0600), 0);
    const std::string say = "say() { echo $1 > " + commands + "; read a < " + answers + "; test \"$a\" = ack; }; ";
    const auto counted = [&](std::optional<int> delay, const std::string& script) {
        PerfOptions options;
        options.detail.delay_ms = delay;
        options.detail.control = "fifo:" + commands + "," + answers;
        auto sample = measure(command, options, {"sh", "-c", say + script});
        EXPECT_TRUE(sample) << sample.error().what;
        if (sample) EXPECT_EQ(sample->exit_status, 0) << script;
        return sample ? static_cast<double>(sample->events[0].reading.raw) : 0.0;
    };
    const std::string work = std::string(busy) + "; ";
    const double all = counted({}, "say ping && " + work);
    EXPECT_GT(all, 0);
    EXPECT_LT(counted(-1, work + work + work + "say enable && say disable"), all / 2);
    EXPECT_LT(counted({}, "say disable && " + work + work + work + "say ping"), all / 2);
    EXPECT_LT(counted({}, work + work + work + "say reset"), all / 2);
    EXPECT_GT(counted(-1, "say enable && " + work + "say disable"), all / 4);
    std::filesystem::remove_all(folder);
}

TEST_F(ScopeDetails, SeveralProcessesAreCountedUntilTheLastHasEnded) {
    const pid_t first = busy_process(), second = busy_process();
    std::thread ends([&] {
        std::this_thread::sleep_for(200ms);
        ::kill(first, SIGKILL);
        std::this_thread::sleep_for(200ms);
        ::kill(second, SIGKILL);
        ::waitpid(first, nullptr, 0);
        ::waitpid(second, nullptr, 0);
    });
    PerfOptions options;
    options.detail.further_pids = {second};
    options.detail.apart = true;
    const auto sample = measure({Scope::Kind::process, first, {}}, options, {});
    ends.join();
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_FALSE(sample->interrupted);
    ASSERT_EQ(sample->by_cpu.size(), 2u);
    std::uint64_t sum = 0;
    for (const pid_t process : {first, second}) {
        ASSERT_TRUE(sample->by_cpu.contains(process));
        EXPECT_GT(sample->by_cpu.at(process)[0].reading.raw, 0u);
        sum += sample->by_cpu.at(process)[0].reading.raw;
    }
    EXPECT_EQ(sample->events[0].reading.raw, sum);
}

TEST_F(ScopeDetails, AThreadIsCountedWithoutTheOthers) {
    std::atomic<pid_t> quiet = 0;
    std::atomic<bool> stop = false;
    std::thread sleeps([&] {
        quiet = static_cast<pid_t>(::syscall(SYS_gettid));
        while (!stop) std::this_thread::sleep_for(10ms);
    });
    std::thread works([&] {
        while (!stop) {
        }
    });
    while (quiet == 0) std::this_thread::yield();
    PerfOptions options;
    options.seconds = 0.3;
    options.detail.threads = {quiet.load()};
    const auto sample = measure({Scope::Kind::process, quiet, {}}, options, {});
    stop = true;
    sleeps.join();
    works.join();
    ASSERT_TRUE(sample) << sample.error().what;
    EXPECT_GT(sample->events[0].reading.raw, 0u);
    EXPECT_LT(sample->events[0].reading.raw, 100'000'000u);
    const auto gone = measure({Scope::Kind::process, quiet, {}}, options, {});
    ASSERT_FALSE(gone);
    EXPECT_NE(gone.error().what.find("no thread"), std::string::npos);
}

TEST_F(ScopeDetails, WithoutInheritanceAChildIsNotCounted) {
    const std::vector<std::string> has_child{"sh", "-c", std::string("sh -c '") + busy + "'; :"};
    PerfOptions alone;
    alone.detail.inherit = false;
    const auto all = measure(command, {}, has_child), own = measure(command, alone, has_child);
    ASSERT_TRUE(all && own);
    EXPECT_LT(own->events[0].reading.raw, all->events[0].reading.raw / 2);
}

}  // namespace
}  // namespace tmaprobe::counters::perf
