#include "process/held_command.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tmaprobe::process {
namespace {

/// As a shell without job control starts what it puts into the background.
class IgnoredInterrupts : public ::testing::Test {
  protected:
    void SetUp() override { saved_ = std::signal(SIGINT, SIG_IGN); }
    void TearDown() override { std::signal(SIGINT, saved_); }

  private:
    void (*saved_)(int) = SIG_DFL;
};

TEST_F(IgnoredInterrupts, AreHeardFromTheFirstWatchOn) {
    SignalWatch from_the_start;
    std::raise(SIGINT);
    SignalWatch later;  // of what is measured
    EXPECT_TRUE(later.wait(5'000'000'000).interrupted);
}

TEST(Ticks, EndAWaitForWhatIsNotOurChild) {
    SignalWatch signals;
    int ticks = 0;
    const std::uint64_t began = now_ns();
    const Ticks until{10'000'000,
                      [&] {
                          ++ticks;
                          return true;
                      },
                      100'000'000};
    EXPECT_FALSE(wait_for_processes({::getppid()}, signals, until));
    EXPECT_GE(now_ns() - began, 100'000'000u);
    EXPECT_GT(ticks, 0);
    wait_for_signal(signals, {0, {}, 10'000'000});
}

}  // namespace
}  // namespace tmaprobe::process
