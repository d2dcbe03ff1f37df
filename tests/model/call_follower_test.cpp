#include "model/call_follower.h"

#include <gtest/gtest.h>

namespace tmaprobe::model {
namespace {

using Call = counters::CallPaths::Call;

class Thread {
  public:
    void calls(std::uint64_t from, std::uint64_t to) {
        trace::StaticInstruction instruction = at(from);
        instruction.branch = instruction.call = true;
        follower.step(instruction, to);
    }
    void returns(std::uint64_t from, std::uint64_t to) {
        trace::StaticInstruction instruction = at(from);
        instruction.branch = instruction.returns = true;
        follower.step(instruction, to);
    }
    /// Addresses of the calls that have not returned, the newest first.
    std::vector<std::uint64_t> open() const {
        std::vector<std::uint64_t> sites;
        for (std::uint32_t call = follower.current(); follower.calls()[call].from != Call::none;
             call = follower.calls()[call].from)
            sites.push_back(follower.calls()[call].site);
        return sites;
    }
    const Call& outermost() const {
        std::uint32_t call = follower.current();
        while (follower.calls()[call].from != Call::none) call = follower.calls()[call].from;
        return follower.calls()[call];
    }
    CallFollower follower;

  private:
    static trace::StaticInstruction at(std::uint64_t address) {
        trace::StaticInstruction instruction;
        instruction.address = address;
        instruction.length = 5;
        return instruction;
    }
};

TEST(CallFollower, KnowsWhatHasNotReturned) {
    Thread thread;
    EXPECT_TRUE(thread.open().empty());
    thread.calls(0x100, 0x200);
    thread.calls(0x210, 0x300);
    EXPECT_EQ(thread.open(), (std::vector<std::uint64_t>{0x210, 0x100}));
    thread.returns(0x310, 0x215);
    EXPECT_EQ(thread.open(), (std::vector<std::uint64_t>{0x100}));
    const auto before = thread.follower.current();
    thread.calls(0x210, 0x300);
    thread.returns(0x310, 0x215);
    EXPECT_EQ(thread.follower.current(), before) << "the same calls are the same";
    EXPECT_EQ(thread.follower.calls().size(), 3U);
}

TEST(CallFollower, ReturnsThroughSeveralAtOnce) {
    Thread thread;
    thread.calls(0x100, 0x200);
    thread.calls(0x210, 0x300);
    thread.calls(0x310, 0x400);
    thread.returns(0x410, 0x215);  // as after longjmp, or from a tail call
    EXPECT_EQ(thread.open(), (std::vector<std::uint64_t>{0x100}));
}

TEST(CallFollower, CountsReturnsOutOfWhatWasCalledBefore) {
    Thread thread;
    EXPECT_EQ(thread.outermost().returned, 0U);
    thread.returns(0x110, 0x805);
    EXPECT_EQ(thread.outermost().returned, 1U);
    EXPECT_EQ(thread.outermost().site, 0x805U);
    thread.calls(0x810, 0x100);
    thread.returns(0x110, 0x815);
    thread.returns(0x820, 0x905);
    EXPECT_EQ(thread.outermost().returned, 2U);
}

TEST(CallFollower, IsLostWhereCallsAreLeftBehind) {
    Thread thread;
    thread.calls(0x100, 0x200);
    thread.returns(0x210, 0x5000);  // another stack
    EXPECT_EQ(thread.outermost().returned, Call::lost);
    thread.returns(0x5010, 0x6000);
    EXPECT_EQ(thread.outermost().returned, Call::lost) << "and stays so";
    EXPECT_TRUE(thread.open().empty());
}

TEST(CallFollower, ACallOfWhatComesNextIsNone) {
    Thread thread;
    thread.calls(0x100, 0x105);
    EXPECT_TRUE(thread.open().empty());
}

}  // namespace
}  // namespace tmaprobe::model
