#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "tests/model/fixture.h"

namespace tmaprobe::model {
namespace {

#if defined(__x86_64__)
constexpr const char* target = "amdzen4";
#else
constexpr const char* target = "neoverse-n1";
#endif

Result<counters::Sample> measure(std::vector<std::string> command, int alone_ms = 0) {
    const auto table = TRY(events::load({}, target));
    ModelOptions options;
    options.effort = 20;  // a busy machine makes each stop long, and samples dear
    options.command_alone_ms = alone_ms;
    auto source = TRY(make_source({}, table, host_of_test(), options));
    TRY((source)->prepare(plan_of(table, tree_metrics(table))));
    CommandWorkload workload(std::move(command));
    return (source)->measure(workload, {0, 0, 1});
}

std::vector<std::string> warning_ids(const counters::Sample& sample) {
    std::vector<std::string> ids;
    for (const auto& warning : sample.warnings) ids.push_back(warning.id);
    return ids;
}

TEST(ModelledCommand, OneThatEndsAtOnceIsTracedFromItsStart) {
    const auto sample = measure({"/bin/true"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 0);
    EXPECT_GT(sample->model->instructions, 1000U);
    EXPECT_EQ(sample->model->windows, 1U);
    EXPECT_THAT(warning_ids(*sample), testing::Contains("model_one_window"));
}

TEST(ModelledCommand, OneThatEndsBeforeItsFirstWindowIsTimedAndSaidNotToBeModelled) {
    constexpr int longer_than_any_patience = 1'000'000;
    const auto sample = measure({"/bin/sh", "-c", "sleep 0.05; exit 3"}, longer_than_any_patience);
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 3);
    EXPECT_EQ(sample->model->windows, 0U);
    std::map<std::string, double> software;  // the kernel's own events are there without any window
    for (const auto& event : sample->events) {
        EXPECT_EQ(event.pmu, "software");
        software[event.name] = event.reading.value;
    }
    EXPECT_GT(software["page-faults"], 0);
    EXPECT_GT(software["context-switches"], 0) << "it slept";
    EXPECT_GE(sample->elapsed_ns, 50'000'000u);
    EXPECT_THAT(warning_ids(*sample), testing::Contains("nothing_traced"));
}

TEST(ModelledCommand, ItsMomentsAreDrawnAgainForTheBounds) {
    const auto sample = measure({"/bin/sh", "-c", "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done"}, 2);
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    ASSERT_GE(sample->model->windows, 2u);
    int drawn = 0;
    for (const auto& variation : sample->model->variations) {
        if (variation.what != record::Variation::drawn_moments) continue;
        ++drawn;
        EXPECT_GT(variation.instructions, 0);
    }
    EXPECT_GE(drawn, 20);
}

TEST(ModelledCommand, WindowsBeginAfterTheTimeThatItWasLeftAlone) {
    const auto sample = measure({"/bin/sh", "-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"}, 2);
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_GE(sample->model->windows, 1U);
    EXPECT_GT(sample->model->warm_up_instructions, 0U) << "caches are not cold in the middle of a run";
}

TEST(ModelledCommand, ItsExitStatusIsHandedOn) {
    const auto sample = measure({"/bin/sh", "-c", "exit 3"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 3);
    const auto killed = measure({"/bin/sh", "-c", "kill -TERM $$"});
    ASSERT_TRUE(killed.has_value()) << killed.error().what;
    EXPECT_EQ(killed->exit_status, 128 + 15);
}

TEST(ModelledCommand, OneThatExecutesAnotherIsFollowedIntoIt) {
    const auto once = measure({"/usr/bin/env", "/bin/sh", "-c", "exit 3"});
    ASSERT_TRUE(once.has_value()) << once.error().what;
    EXPECT_EQ(once->exit_status, 3);
    const auto in_a_child = measure({"/bin/sh", "-c", "/usr/bin/env /usr/bin/env /bin/true; exec /bin/sh -c 'exit 4'"});
    ASSERT_TRUE(in_a_child.has_value()) << in_a_child.error().what;
    EXPECT_EQ(in_a_child->exit_status, 4);
}

TEST(ModelledCommand, ASystemCallThatAnIgnoredSignalInterruptsGoesOn) {
    // The outer shell waits, inside its first window, for a child that sends it a signal which it ignores.
    const auto sample = measure(
        {"/bin/sh", "-c", "trap '' USR1; /bin/sh -c 'sleep 0.3; kill -USR1 $PPID; sleep 0.3; exit 5'; exit $?"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 5);
}

TEST(ModelledCommand, OneThatDoesNotExistIsRefusedWithTheReason) {
    const auto sample = measure({"/nonexistent/program"});
    ASSERT_FALSE(sample.has_value());
    EXPECT_EQ(sample.error().code, ErrorCode::unavailable);
    EXPECT_THAT(sample.error().what, testing::HasSubstr("/nonexistent/program"));
}

TEST(ModelledCommand, ChildrenAreFollowedAndSaid) {
    const auto sample =
        measure({"/bin/sh", "-c", "one() { i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; }; one & one; wait"}, 2);
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 0);
    EXPECT_GT(sample->model->further_tasks, 0U);
    EXPECT_THAT(warning_ids(*sample), testing::Contains("model_tasks"));
    double share = 0;
    for (const auto& task : sample->model->sampling->by_task) share += task.share;
    EXPECT_NEAR(share, 1, 1e-9);
}

TEST(ModelledCommand, ALongRunHasSeveralWindowsAndSaysWhatShareOfItTheyAre) {
    const auto sample = measure({"/bin/sh", "-c", "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_GE(sample->model->windows, 2U);
    EXPECT_GT(sample->model->coverage, 0.0);
    EXPECT_LT(sample->model->coverage, 1.0);
}

#if defined(__x86_64__)

/// A 32-bit program of one exit system call.
std::string write_32_bit_program() {
    const std::uint8_t code[] = {0xb9, 0x00, 0x00, 0x10, 0x00, 0x49, 0x75, 0xfd,  // count down from 2^20
                                 0xb8, 0x01, 0,    0,    0,    0x31, 0xdb, 0xcd, 0x80};
    std::uint8_t file[84 + sizeof code] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
    const auto put = [&](std::size_t at, std::uint32_t value, std::size_t bytes) {
        std::memcpy(file + at, &value, bytes);
    };
    constexpr std::uint32_t base = 0x8048000, entry = base + 84;
    put(16, 2, 2);
    put(18, 3, 2);
    put(20, 1, 4);
    put(24, entry, 4);
    put(28, 52, 4);
    put(40, 52, 2);
    put(42, 32, 2);
    put(44, 1, 2);
    put(52, 1, 4);
    put(60, base, 4);
    put(64, base, 4);
    put(68, sizeof file, 4);
    put(72, sizeof file, 4);
    put(76, 5, 4);
    put(80, 4096, 4);
    std::memcpy(file + 84, code, sizeof code);
    const std::string path = testing::TempDir() + "tmaprobe_32_bit_" + std::to_string(::getpid());
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file), sizeof file);
    ::chmod(path.c_str(), 0755);
    return path;
}

TEST(ModelledCommand, ThirtyTwoBitCodeRunsToItsEndAndIsSaidNotToBeModelled) {
    const std::string path = write_32_bit_program();
    const auto sample = measure({path});
    ::unlink(path.c_str());
    if (!sample) GTEST_SKIP() << "this kernel does not run 32-bit programs: " << sample.error().what;
    EXPECT_TRUE(sample->exit_status.has_value());
    EXPECT_TRUE(sample->traced.has_value());
    EXPECT_EQ(sample->model->windows, 0U);
    ASSERT_THAT(warning_ids(*sample), testing::Contains("nothing_traced"));
    EXPECT_EQ(sample->model->sampling->pauses.copies, 0U);
    EXPECT_GT(sample->model->sampling->missed.at("not_64_bit_code"), 0U);
}

TEST(ModelledCode, ThatRewritesItselfRunsAsItShould) {
    auto* code = static_cast<std::uint8_t*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(code, MAP_FAILED);
    auto* wrong =
        static_cast<std::uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    FunctionWorkload workload([&](std::uint64_t rounds) {
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const std::uint8_t body[] = {0xb8, std::uint8_t(i), std::uint8_t(i >> 8), 0, 0, 0xc3};  // mov $i, %eax; ret
            std::memcpy(code, body, sizeof body);
            if (reinterpret_cast<std::uint32_t (*)()>(code)() != (i & 0xffff)) ++*wrong;
        }
    });
    const Evaluated evaluated = model_of(workload, target);
    EXPECT_EQ(*wrong, 0u);
    EXPECT_GT(evaluated.sample.model->instructions, 1000U);
    ::munmap(code, 4096);
    ::munmap(wrong, 4096);
}

TEST(ModelledCommand, WindowsInOneProcessAfterAnotherAreTranslatedAnew) {
    // Each inner shell is long enough for a window of its own; the last word replaces the program.
    const auto sample = measure({"/bin/sh", "-c",
                                 "for n in 1 2 3 4 5 6; do /bin/sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); "
                                 "done'; done; exec /bin/sh -c 'exit 7'"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what << sample.error().hint;
    EXPECT_EQ(sample->exit_status, 7);
    EXPECT_EQ(sample->model->traced_by, "translation");
    EXPECT_GE(sample->model->windows, 2U);
}

/// Goes on after the ud2 that it was called for; anywhere else that would skip half of an instruction.
void skip_ud2(int, siginfo_t*, void* context) {
    auto& pointer = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
    const auto* code = reinterpret_cast<const std::uint8_t*>(pointer);
    if (code[0] != 0x0f || code[1] != 0x0b) ::_exit(3);
    pointer += 2;
}

TEST(ModelledCode, ASignalThatAnInstructionCausedMeetsThatInstruction) {
    FunctionWorkload workload([&](std::uint64_t rounds) {
        struct sigaction action{};
        action.sa_sigaction = skip_ud2;
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGILL, &action, nullptr);
        // A signal costs a traced process up to a tenth of a millisecond: something is done between them.
        for (std::uint64_t i = 0; i < rounds; ++i) {
            for (volatile int between = 0; between < 200;) {
                between = between + 1;
            }
            asm volatile("ud2");
        }
    });
    const Evaluated evaluated = model_of(workload, target);
    EXPECT_EQ(evaluated.sample.model->windows, 3U);  // none found the process dead
}

TEST(ModelledCode, InstructionsThatNobodyKnowsEndTheProgramAsTheyWould) {
    const auto sample = measure({"/bin/sh", "-c", "kill -ILL $$"});
    ASSERT_TRUE(sample.has_value()) << sample.error().what;
    EXPECT_EQ(sample->exit_status, 128 + 4);
}

#endif

}  // namespace
}  // namespace tmaprobe::model
