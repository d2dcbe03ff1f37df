#include "model/executed_runs.h"

#include <gmock/gmock.h>

namespace tmaprobe::model {
namespace {

using counters::ExecutedRun;
using testing::UnorderedElementsAre;

/// Instructions of four bytes each, in memory one after the other from 0x100.
class Thread {
  public:
    Thread() {
        for (std::uint64_t address = 0x100; address < 0x200; address += 4) {
            trace::StaticInstruction instruction;
            instruction.address = address;
            instruction.length = 4;
            trace_.instructions.push_back(instruction);
        }
    }
    trace::StaticInstruction& at(std::uint64_t address) { return trace_.instructions[number(address)]; }
    void jump(std::uint64_t from, std::uint64_t to) {
        at(from).branch = at(from).conditional = true;
        at(from).target = to;
    }
    void call(std::uint64_t from) { at(from).branch = at(from).call = at(from).indirect = true; }
    void returns(std::uint64_t from) { at(from).branch = at(from).returns = at(from).indirect = true; }
    std::vector<ExecutedRun> run(const std::vector<std::uint64_t>& addresses) {
        trace_.steps.clear();
        for (const std::uint64_t address : addresses) trace_.steps.push_back({number(address), 0, 0});
        std::vector<ExecutedRun> runs;
        executed_runs(trace_).for_each([&](const ExecutedRun& one) { runs.push_back(one); });
        return runs;
    }

  private:
    static std::uint32_t number(std::uint64_t address) { return static_cast<std::uint32_t>((address - 0x100) / 4); }
    trace::Trace trace_;
};

TEST(ExecutedRuns, EndAtBranchesTakenOrNot) {
    Thread thread;
    thread.jump(0x108, 0x100);
    EXPECT_THAT(thread.run({0x100, 0x104, 0x108, 0x100, 0x104, 0x108, 0x10c, 0x110}),
                UnorderedElementsAre(ExecutedRun{0x100, 0x108, 0x100}, ExecutedRun{0x100, 0x108, 0x10c},
                                     ExecutedRun{0x10c, 0x110, 0}));
}

TEST(ExecutedRuns, AfterACallTheFunctionGoesOnBehindIt) {
    Thread thread;
    thread.call(0x104);
    thread.call(0x144);
    thread.returns(0x148);
    thread.returns(0x180);
    EXPECT_THAT(
        thread.run({0x100, 0x104, 0x140, 0x144, 0x180, 0x148, 0x108, 0x10c}),
        UnorderedElementsAre(ExecutedRun{0x100, 0x104, 0x108}, ExecutedRun{0x140, 0x144, 0x148},
                             ExecutedRun{0x180, 0x180, 0}, ExecutedRun{0x148, 0x148, 0}, ExecutedRun{0x108, 0x10c, 0}));
}

TEST(ExecutedRuns, AReturnFromWhatWasCalledBeforeTheWindowLeadsNowhere) {
    Thread thread;
    thread.returns(0x148);
    EXPECT_THAT(thread.run({0x144, 0x148, 0x108}),
                UnorderedElementsAre(ExecutedRun{0x144, 0x148, 0}, ExecutedRun{0x108, 0x108, 0}));
}

TEST(ExecutedRuns, AReturnPastCallsEndsThem) {  // an exception, longjmp
    Thread thread;
    thread.call(0x104);
    thread.call(0x144);
    thread.returns(0x180);
    EXPECT_THAT(thread.run({0x100, 0x104, 0x140, 0x144, 0x180, 0x108}),
                UnorderedElementsAre(ExecutedRun{0x100, 0x104, 0x108}, ExecutedRun{0x140, 0x144, 0},
                                     ExecutedRun{0x180, 0x180, 0}, ExecutedRun{0x108, 0x108, 0}));
}

TEST(ExecutedRuns, ACallOfWhatComesNextIsNoCall) {
    Thread thread;
    thread.call(0x104);
    EXPECT_THAT(thread.run({0x100, 0x104, 0x108}),
                UnorderedElementsAre(ExecutedRun{0x100, 0x104, 0x108}, ExecutedRun{0x108, 0x108, 0}));
}

TEST(ExecutedRuns, WhatNoBranchLeadsToIsNotOfTheSameRun) {  // a signal's handler
    Thread thread;
    thread.jump(0x148, 0x110);
    EXPECT_THAT(thread.run({0x100, 0x104, 0x140, 0x148, 0x180, 0x184}),
                UnorderedElementsAre(ExecutedRun{0x100, 0x104, 0}, ExecutedRun{0x140, 0x140, 0},
                                     ExecutedRun{0x148, 0x148, 0}, ExecutedRun{0x180, 0x184, 0}));
}

TEST(ExecutedRuns, WhatRepeatsItselfIsOneInstruction) {
    Thread thread;
    EXPECT_THAT(thread.run({0x100, 0x104, 0x104, 0x104, 0x108}), UnorderedElementsAre(ExecutedRun{0x100, 0x108, 0}));
    EXPECT_TRUE(thread.run({}).empty());
}

}  // namespace
}  // namespace tmaprobe::model
