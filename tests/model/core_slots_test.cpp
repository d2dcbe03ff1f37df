#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

#if defined(__x86_64__)

class Tally final : public SlotObserver {
  public:
    void slots(SlotCause cause, std::uint32_t instruction, std::uint64_t count) override {
        by_cause[static_cast<std::size_t>(cause)] += count;
        by_instruction[instruction] += count;
    }
    SlotsByCause by_cause{};
    std::map<std::uint32_t, std::uint64_t> by_instruction;
};

/// Every n-th branch goes another way than was foretold.
class EveryNth final : public BranchOracle {
  public:
    explicit EveryNth(unsigned n) : n_(n) {}
    Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override {
        return ++branches_ % n_ == 0 ? Foretold::wrong : Foretold::right;
    }

  private:
    unsigned n_, branches_ = 0;
};

const Bytes test_rax = {0x48, 0x85, 0xc0};        // test %rax, %rax
const Bytes jump_not_taken = {0x74, 0x10};        // je
const Bytes multiply = {0x48, 0x0f, 0xaf, 0xc0};  // imul %rax, %rax
const Bytes add_rbx = {0x48, 0x01, 0xcb};         // add %rcx, %rbx

std::uint64_t sum(const SlotsByCause& causes) {
    return std::accumulate(causes.begin(), causes.end(), std::uint64_t{0});
}
std::uint64_t of(const SlotsByCause& causes, SlotCause cause) { return causes[static_cast<std::size_t>(cause)]; }

struct Counted {
    PipelineFacts facts;
    Tally tally;
};

Counted count(const CoreParameters& parameters, const std::vector<Bytes>& code, unsigned latency,
              unsigned mispredict_every = 1u << 30) {
    std::mt19937 random(7);
    std::vector<std::uint64_t> addresses(6000);
    for (std::uint64_t& address : addresses) address = 0x100000 + random() % 4096 * 8;
    const trace::Trace trace = trace_of(code, addresses.size(), [&](std::size_t k) { return addresses[k]; });
    FixedMemory memory([&](std::uint64_t address) { return address % 3 == 0 ? latency : 0u; });
    EveryNth branches(mispredict_every);
    Counted counted;
    auto core = make_core(parameters);
    OfInstructions of_instructions(trace, &counted.tally);
    auto simulated = (*core)->simulate(trace, {0, trace.steps.size(), 0, {}, &of_instructions}, memory, branches);
    EXPECT_TRUE(simulated.has_value());
    if (simulated) counted.facts = simulated->facts;
    return counted;
}

class SlotsOf : public testing::TestWithParam<int> {};

const std::vector<std::vector<Bytes>> codes = {
    {chase_step},
    {load_other, divide, store_rax},
    {locked_increment, add_rbx},
    {test_rax, jump_not_taken, multiply, load_other},
    {store_rax, store_rax, store_rax},
    {add_rbx, multiply, add_rbx},
};

TEST_P(SlotsOf, EachHasOneCauseAndOneInstruction) {
    for (const unsigned mispredict_every : {3u, 1u << 30}) {
        const auto [facts, tally] = count(zen4(), codes[static_cast<std::size_t>(GetParam())], 300, mispredict_every);
        EXPECT_EQ(facts.slots, 6 * facts.cycles);
        EXPECT_EQ(sum(facts.by_cause), facts.slots);
        EXPECT_EQ(tally.by_cause, facts.by_cause);
        std::uint64_t attributed = 0;
        for (const auto& [instruction, slots] : tally.by_instruction) {
            EXPECT_LT(instruction, codes[static_cast<std::size_t>(GetParam())].size());
            attributed += slots;
        }
        EXPECT_EQ(attributed, facts.slots);
    }
}

TEST_P(SlotsOf, WhatIsCountedAfterALeadInAddsUpToo) {
    const auto& code = codes[static_cast<std::size_t>(GetParam())];
    const trace::Trace trace = trace_of(code, 3000, [](std::size_t k) { return 0x100000 + k % 512 * 8; });
    auto core = make_core(zen4());
    for (std::size_t lead_in = 100; lead_in < 140; ++lead_in) {
        FixedMemory memory([](std::uint64_t) { return 20u; });
        EveryNth branches(3);
        Tally tally;
        const Window window{0, trace.steps.size(), lead_in, [&] { tally = Tally(); }, &tally};
        const auto simulated = (*core)->simulate(trace, window, memory, branches);
        ASSERT_TRUE(simulated.has_value());
        EXPECT_EQ(sum(simulated->facts.by_cause), simulated->facts.slots);
        EXPECT_EQ(tally.by_cause, simulated->facts.by_cause);
    }
}

TEST(Instructions, AreThoseThatTheSlotsAreLostFor) {
    const auto most_of = [](const Counted& counted) {
        const auto& sums = counted.tally.by_instruction;
        return std::max_element(sums.begin(), sums.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
    };
    EXPECT_EQ(most_of(count(zen4(), {add_rbx, chase_step, add_rbx}, 300)), 1u) << "the load";
    EXPECT_EQ(most_of(count(zen4(), {multiply, test_rax, jump_not_taken, add_rbx}, 0, 2)), 2u) << "the branch";
    EXPECT_EQ(most_of(count(zen4(), {add_rbx, add_rbx, store_rax}, 300)), 2u) << "the store";
}

TEST_P(SlotsOf, ThePartsOfLevelOneAreAllOfThem) {
    const PipelineFacts facts = count(zen4(), codes[static_cast<std::size_t>(GetParam())], 300, 5).facts;
    EXPECT_EQ(facts.uops + facts.uops_wrong_path + facts.slots_recovery + facts.slots_frontend + facts.slots_backend,
              facts.slots);
    EXPECT_EQ(of(facts.by_cause, SlotCause::retiring), facts.uops);
    EXPECT_EQ(of(facts.by_cause, SlotCause::wrong_path), facts.uops_wrong_path);
    EXPECT_LE(facts.slots_backend_memory, facts.slots_backend);
    EXPECT_LE(facts.cycles_no_execute + facts.cycles_one_execute + facts.cycles_two_execute, facts.cycles);
    EXPECT_LE(facts.cycles_l1_miss, facts.cycles_load_in_flight);
}

INSTANTIATE_TEST_SUITE_P(Codes, SlotsOf, testing::Range(0, static_cast<int>(codes.size())));

TEST(Causes, AreThoseThatTheCodeHas) {
    const auto share = [](const PipelineFacts& facts, SlotCause cause) {
        return static_cast<double>(of(facts.by_cause, cause)) / static_cast<double>(facts.slots);
    };
    EXPECT_GT(share(count(zen4(), {chase_step}, 300).facts, SlotCause::dram), 0.8);
    EXPECT_GT(share(count(zen4(), {multiply}, 0).facts, SlotCause::dependency), 0.8);
    CoreParameters locks = zen4();
    locks.lock_cycles = 18;
    EXPECT_GT(share(count(locks, {locked_increment}, 0).facts, SlotCause::lock), 0.8);
    const PipelineFacts hard = count(zen4(), {multiply, test_rax, jump_not_taken}, 0, 2).facts;
    EXPECT_GT(share(hard, SlotCause::wrong_path), 0.2);
    EXPECT_GT(share(hard, SlotCause::resteer), 0.2);
    EXPECT_GT(share(count(zen4(), {store_rax}, 300).facts, SlotCause::store_buffer), 0.5);
}

TEST(Causes, ArePutDownToTheInstructionThatIsWaitedFor) {
    const Counted slow = count(zen4(), {add_rbx, chase_step, add_rbx, add_rbx}, 300);
    EXPECT_GT(slow.tally.by_instruction.at(1), slow.facts.slots * 8 / 10);
}

TEST(Mispredictions, CostWhatTheGeometrySays) {
    CoreParameters parameters = zen4();
    const std::vector<Bytes> code = {test_rax, jump_not_taken};
    parameters.mispredict_penalty = 13;
    const double cheap = static_cast<double>(count(parameters, code, 0, 1).facts.cycles);
    parameters.mispredict_penalty = 23;
    const double dear = static_cast<double>(count(parameters, code, 0, 1).facts.cycles);
    EXPECT_NEAR((dear - cheap) / 3000, 10, 0.5);  // half of 6000 steps are branches
}

TEST(Mispredictions, AreRecoveredFromFirstAndFetchedAnewAfterThem) {
    CoreParameters parameters = zen4();
    parameters.mispredict_penalty = 20;
    parameters.recovery_cycles = 8;
    const PipelineFacts facts = count(parameters, {test_rax, jump_not_taken}, 0, 1).facts;
    EXPECT_NEAR(static_cast<double>(facts.slots_recovery) / parameters.slot_width / facts.mispredicts, 8, 0.5);
    EXPECT_NEAR(static_cast<double>(facts.cycles_resteer) / facts.mispredicts, 12, 0.5);
    EXPECT_EQ(facts.cycles_unknown_target, 0u);
}

TEST(UnknownTargets, AreTheirBranchesOwnAndNoMispredictions) {
    const Bytes jump_on = {0xeb, 0x00};  // jmp to what follows
    const trace::Trace trace = trace_of({add_rbx, jump_on}, 6000, [](std::size_t) { return 0; });
    FixedMemory memory([](std::uint64_t) { return 0u; });
    Knows branches(TargetKnown::decoder);
    Tally tally;
    CoreParameters parameters = zen4();
    parameters.foretelling.unknown_target_cycles = 10;
    auto core = make_core(parameters);
    OfInstructions of_instructions(trace, &tally);
    const auto simulated = (*core)->simulate(trace, {0, trace.steps.size(), 0, {}, &of_instructions}, memory, branches);
    ASSERT_TRUE(simulated.has_value());
    const PipelineFacts& facts = simulated->facts;
    EXPECT_EQ(facts.unknown_targets, facts.branches_taken);
    EXPECT_GT(facts.cycles_unknown_target, facts.cycles / 2);
    EXPECT_EQ(facts.cycles_resteer, 0u);
    EXPECT_GT(tally.by_instruction[1], tally.by_instruction[0]) << "the jump";
}

TEST(CoreWindows, OutsideTheirTraceAreRefused) {
    const trace::Trace trace = trace_of({add_rbx}, 10, [](std::size_t) { return 0; });
    auto core = make_core(zen4());
    FixedMemory memory([](std::uint64_t) { return 0u; });
    EveryNth branches(1u << 30);
    EXPECT_EQ((*core)->simulate(trace, {0, 11, 0, {}, nullptr}, memory, branches).error().code, ErrorCode::bad_input);
    EXPECT_EQ((*core)->simulate(trace, {11, 0, 0, {}, nullptr}, memory, branches).error().code, ErrorCode::bad_input);
    const auto empty = (*core)->simulate(trace, {10, 0, 0, {}, nullptr}, memory, branches);
    ASSERT_TRUE(empty.has_value());
    EXPECT_EQ(empty->facts.instructions, 0u);
    const auto one = (*core)->simulate(trace, {0, 1, 0, {}, nullptr}, memory, branches);
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->facts.instructions, 1u);
}

TEST(CoreWindows, CodeThatCannotBeDecodedIsCountedAsNotModelled) {
    trace::Trace trace = trace_of({add_rbx}, 10, [](std::size_t) { return 0; });
    trace.instructions.push_back({});
    trace.instructions.back().address = 0x500000;
    trace.steps.push_back({1, 0, 0});
    auto core = make_core(zen4());
    FixedMemory memory([](std::uint64_t) { return 0u; });
    EveryNth branches(1u << 30);
    const auto simulated = (*core)->simulate(trace, {0, 11, 0, {}, nullptr}, memory, branches);
    ASSERT_TRUE(simulated.has_value());
    EXPECT_EQ(simulated->facts.unmodelled, 1u);
    EXPECT_EQ(simulated->facts.instructions, 11u);
}

#endif

}  // namespace
}  // namespace tmaprobe::model::core
