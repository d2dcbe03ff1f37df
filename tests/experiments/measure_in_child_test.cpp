#include "experiments/measure_in_child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tmaprobe::experiments {
namespace {

Result<> nothing_before(pid_t) { return {}; }

Result<record::Record> measured(const std::function<Result<record::Record>()>& measure) {
    return measure_in_child(measure, nothing_before, {}, {});
}

/// Whether the process goes within two seconds.
bool goes(pid_t pid) {
    for (int tries = 0; tries < 200; ++tries, ::usleep(10'000))
        if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
    return false;
}

TEST(MeasureInChild, BringsTheRecordBack) {
    const auto record = measured([]() -> Result<record::Record> {
        record::Record made;
        made.experiment = record::Experiment::interference;
        made.extra.victim = std::string(1 << 20, 'x');  // more than a pipe holds
        return made;
    });
    ASSERT_TRUE(record) << record.error().what;
    EXPECT_EQ(record->experiment, record::Experiment::interference);
    EXPECT_EQ(record->extra.victim.size(), std::size_t{1} << 20);
}

TEST(MeasureInChild, BringsEveryKindOfErrorBack) {
    for (const auto code : {ErrorCode::bad_usage, ErrorCode::bad_input, ErrorCode::unavailable,
                            ErrorCode::no_permission, ErrorCode::system}) {
        const auto record = measured([&]() -> Result<record::Record> { return fail(code, "what it is", "a\nhint"); });
        ASSERT_FALSE(record);
        EXPECT_EQ(record.error().code, code);
        EXPECT_EQ(record.error().what, "what it is");
        EXPECT_EQ(record.error().hint, "a\nhint");
    }
}

TEST(MeasureInChild, SaysHowItDied) {
    const auto crashed = measured([]() -> Result<record::Record> {
        ::signal(SIGSEGV, SIG_DFL);
        ::raise(SIGSEGV);
        return record::Record{};
    });
    ASSERT_FALSE(crashed);
    EXPECT_EQ(crashed.error().code, ErrorCode::system);
    EXPECT_NE(crashed.error().what.find("killed by signal 11"), std::string::npos) << crashed.error().what;
    const auto left = measured([]() -> Result<record::Record> { ::_exit(3); });
    ASSERT_FALSE(left);
    EXPECT_NE(left.error().what.find("exit status 3"), std::string::npos) << left.error().what;
}

TEST(MeasureInChild, AnInterruptionEndsItAndWhatItStarted) {
    int pids[2];
    ASSERT_EQ(::pipe(pids), 0);
    int asked = 0;
    const auto record = measure_in_child(
        [&]() -> Result<record::Record> {
            const pid_t grandchild = ::fork();
            if (grandchild > 0) {
                const pid_t both[]{::getpid(), grandchild};
                static_cast<void>(!::write(pids[1], both, sizeof both));
            }
            ::sleep(60);
            return record::Record{};
        },
        nothing_before, [&] { return ++asked > 10; }, {});
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, ErrorCode::interrupted);
    pid_t both[2];
    ASSERT_EQ(::read(pids[0], both, sizeof both), static_cast<ssize_t>(sizeof both));
    EXPECT_TRUE(goes(both[0]));
    EXPECT_TRUE(goes(both[1]));
    ::close(pids[0]);
    ::close(pids[1]);
}

TEST(MeasureInChild, DoesNotWorkBeforeItIsPrepared) {
    const auto record =
        measure_in_child([&]() -> Result<record::Record> { return record::Record{}; },
                         [](pid_t) -> Result<> { return fail(ErrorCode::unavailable, "no group"); }, {}, {});
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().what, "no group");
}

}  // namespace
}  // namespace tmaprobe::experiments
