#include <gtest/gtest.h>

#include <map>

#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

#if defined(__x86_64__)

/// Which instruction has most of the slots that are not retiring, and what these are.
class Lost final : public SlotObserver {
  public:
    void slots(SlotCause cause, std::uint32_t instruction, std::uint64_t count) override {
        if (cause == SlotCause::retiring) return;
        by_cause[cause] += count;
        by_instruction[instruction] += count;
        all += count;
    }
    double share(SlotCause cause) const {
        const auto found = by_cause.find(cause);
        return found == by_cause.end() ? 0 : static_cast<double>(found->second) / static_cast<double>(all);
    }
    double share_of_instruction(std::uint32_t instruction) const {
        const auto found = by_instruction.find(instruction);
        return found == by_instruction.end() ? 0 : static_cast<double>(found->second) / static_cast<double>(all);
    }
    std::map<SlotCause, std::uint64_t> by_cause;
    std::map<std::uint32_t, std::uint64_t> by_instruction;
    std::uint64_t all = 0;
};

struct Waited {
    Lost lost;
    double cycles_each_round = 0;
};

Waited run(
    const CoreParameters& parameters, const std::vector<Bytes>& code,
    const std::function<std::uint64_t(std::size_t)>& address = [](std::size_t) { return 0x100000; }) {
    constexpr std::size_t rounds = 1000;
    Waited waited;
    FixedMemory memory([](std::uint64_t) { return 0u; });
    const auto facts = simulate(parameters, trace_of(code, rounds * code.size(), address), memory, &waited.lost);
    waited.cycles_each_round = static_cast<double>(facts.cycles) / rounds;
    return waited;
}

/// Where each line but the one at 0x100000 is far away, for loads and stores.
double cycles_each(const Bytes& code, std::uint64_t address) {
    constexpr std::size_t rounds = 1000;
    FixedMemory memory([](std::uint64_t at) { return at / 64 == 0x100000 / 64 ? 0u : 100u; });
    const auto facts = simulate(zen4(), trace_of({code}, rounds, [&](std::size_t) { return address; }), memory);
    return static_cast<double>(facts.cycles) / rounds;
}

TEST(Waits, ForMemoryAreCyclesBeyondEachLevel) {
    const Bytes chased = {0x48, 0x8b, 0x00};  // mov (%rax), %rax
    constexpr std::size_t rounds = 1000;
    FixedMemory far([](std::uint64_t) { return 100u; });
    const auto facts = simulate(zen4(), trace_of({chased}, rounds, [](std::size_t) { return 0x100000; }), far);
    EXPECT_GT(facts.cycles_no_execute_l3_miss, 0.95 * facts.cycles);
    EXPECT_EQ(facts.cycles_no_execute_l3_miss, facts.cycles_no_execute_l2_miss);
    EXPECT_EQ(facts.cycles_no_execute_l3_miss, facts.cycles_no_execute_l1_miss);
    FixedMemory near([](std::uint64_t) { return 0u; });
    EXPECT_EQ(simulate(zen4(), trace_of({chased}, rounds, [](std::size_t) { return 0x100000; }), near)
                  .cycles_no_execute_l2_miss,
              0);
}

TEST(Waits, WhatLiesInTwoLinesNeedsBoth) {
    const Bytes chased = {0x48, 0x8b, 0x00};  // mov (%rax), %rax
    const Bytes stored = {0x48, 0x89, 0x07};  // mov %rax, (%rdi)
    EXPECT_NEAR(cycles_each(chased, 0x10003c) - cycles_each(chased, 0x100038), 100, 10);
    // Stores leave in order, and their lines are asked for one after another once they are retired.
    EXPECT_GT(cycles_each(stored, 0x10003c), cycles_each(stored, 0x100038) + 0.5);
}

TEST(Waits, WhatTheFirstLevelDoesNotHaveTakesAPortAgainWhereTheCoreDoesSo) {
    constexpr std::size_t loads = 9, ports = 3;
    const std::vector<Bytes> code(loads, {0x8b, 0x41, 0x10});  // mov 0x10(%rcx), %eax
    bool lines_take_ports = true;
    const auto slots_of_ports = [&](bool again, Loaded answer) {
        CoreParameters core = zen4();
        core.issues_missed_loads_again = again;
        core.lines_take_load_ports = lines_take_ports;
        FixedMemory memory([&](std::uint64_t at) { return at == 0x100000 ? Loaded{} : answer; });
        constexpr std::size_t rounds = 1000;
        const auto address = [](std::size_t k) { return k % loads ? 0x100000u : 0x200000u; };
        const auto facts = simulate(core, trace_of(code, rounds * loads, address), memory);
        return ports * static_cast<double>(facts.cycles) / rounds;
    };
    const Loaded held, translated{7, SlotCause::translation, 1, 7, true}, translating{7, SlotCause::translation, 1, 7},
        sent{11, SlotCause::l2, 2, 0, false, true}, both{18, SlotCause::l2, 2, 7, true, true};
    for (const Loaded& answer : {held, translated, both}) EXPECT_NEAR(slots_of_ports(false, answer), loads, 0.2);
    EXPECT_NEAR(slots_of_ports(true, held), loads, 0.2);
    EXPECT_NEAR(slots_of_ports(true, translating), loads + 1, 0.2);
    EXPECT_NEAR(slots_of_ports(true, translated), loads + 2, 0.2);
    EXPECT_NEAR(slots_of_ports(true, sent), loads + 2, 0.2);
    EXPECT_NEAR(slots_of_ports(true, both), loads + 4, 0.2);
    lines_take_ports = false;
    EXPECT_NEAR(slots_of_ports(true, sent), loads + 1, 0.2);
    EXPECT_NEAR(slots_of_ports(true, both), loads + 3, 0.2);
}

TEST(Waits, WhatWaitsForATranslationIsIssuedInVainWhereTheCoreDoesSo) {
    // A load, four shifts of it, and four of nothing that is waited for, for two ports.
    std::vector<Bytes> code{{0x8b, 0x41, 0x10}};                                 // mov 0x10(%rcx), %eax
    for (int k = 0; k < 4; ++k) code.push_back({0xc4, 0xe2, 0x4b, 0xf7, 0xd0});  // shrx %esi, %eax, %edx
    for (int k = 0; k < 4; ++k) code.push_back({0xc4, 0x42, 0x4b, 0xf7, 0xcb});  // shrx %esi, %r11d, %r9d
    const auto cycles = [&](unsigned in_vain, Loaded answer) {
        CoreParameters core = zen4();
        core.issues_missed_loads_again = false;
        core.in_vain_cycles = in_vain;
        // With more room the ports would always be taken already: by what waits for them from before.
        for (const char* port : {"0", "1", "2"})
            core.schedulers.push_back({{std::string("ALU") + port, std::string("AGU") + port}, 8, false});
        FixedMemory memory([&](std::uint64_t) { return answer; });
        constexpr std::size_t rounds = 1000;
        const auto facts =
            simulate(core, trace_of(code, rounds * code.size(), [](std::size_t) { return 0x100000u; }), memory);
        return static_cast<double>(facts.cycles) / rounds;
    };
    const Loaded held, translated{7, SlotCause::translation, 1, 7, true}, sent{11, SlotCause::l2, 2, 0, false, true};
    for (const unsigned in_vain : {0u, 7u}) EXPECT_NEAR(cycles(in_vain, held), 4, 0.1);
    EXPECT_NEAR(cycles(7, sent), cycles(0, sent), 0.01) << "that the line is not there is known in time";
    EXPECT_NEAR(cycles(0, translated), 4, 0.1);
    EXPECT_NEAR(cycles(7, translated), 5.33, 0.1) << "of four that go in vain, 2.7 find a port";
}

TEST(Waits, OfOperationsThatDoNotDependOnEachOtherAreForTheirPort) {
    const Bytes multiplied = {0x48, 0x6b, 0xc8, 0x03};  // imul $3, %rax, %rcx
    const Waited independent = run(zen4(), {multiplied, multiplied, multiplied, multiplied});
    EXPECT_NEAR(independent.cycles_each_round, 4, 0.1) << "one unit multiplies";
    EXPECT_GT(independent.lost.share(SlotCause::port), 0.9);
    const Bytes chain = {0x48, 0x6b, 0xc0, 0x03};  // imul $3, %rax, %rax
    EXPECT_GT(run(zen4(), {chain}).lost.share(SlotCause::dependency), 0.9);
}

TEST(Waits, OfAFenceAreItsOwn) {
    const Bytes add = {0x48, 0x01, 0xcb}, multiply = {0x48, 0x0f, 0xaf, 0xc0};  // add %rcx, %rbx; imul %rax, %rax
    const Bytes lfence = {0x0f, 0xae, 0xe8};
    const Waited fenced = run(zen4(), {add, multiply, lfence, add});
    EXPECT_GT(fenced.lost.share(SlotCause::serialization), 0.7);
    EXPECT_GT(fenced.lost.share_of_instruction(2), 0.7);
    EXPECT_EQ(run(zen4(), {add, multiply, add}).lost.share(SlotCause::serialization), 0);
}

TEST(Waits, ForAStoreBufferThatIsFullBehindALoadAreTheLoads) {
    // Each store's data are the load's before it, which takes long.
    const Bytes chase = {0x48, 0x8b, 0x00}, store = {0x48, 0x89, 0x07};  // mov (%rax), %rax; mov %rax, (%rdi)
    CoreParameters parameters = zen4();
    parameters.store_buffer = 8;
    Waited waited;
    FixedMemory memory([](std::uint64_t address) { return address == 0x200000 ? 100u : 0u; });
    const auto address = [](std::size_t step) {
        return step % 4 ? 0x100000u + 64 * static_cast<unsigned>(step % 4) : 0x200000u;
    };
    simulate(parameters, trace_of({chase, store, store, store}, 4000, address), memory, &waited.lost);
    EXPECT_GT(waited.lost.share(SlotCause::dram), 0.9);
    EXPECT_LT(waited.lost.share(SlotCause::store_buffer), 0.05);
}

const Bytes store_lower = {0x89, 0x0f}, store_upper = {0x89, 0x57, 0x04};  // mov %ecx, (%rdi); mov %edx, 4(%rdi)
const Bytes load_to_rcx = {0x48, 0x8b, 0x0f}, load_to_rax = {0x48, 0x8b, 0x07};

TEST(Waits, ForHalvesThatAreReadAsAWholeLastUntilBothAreWritten) {
    CoreParameters parameters = zen4();
    parameters.store_forward_failed_cycles = 14;
    const auto address = [](std::size_t step) { return 0x100000 + (step % 3 == 1 ? 4u : 0u); };
    // The first of the two stores is the one that the chain goes through.
    const Waited chained = run(parameters, {store_lower, store_upper, load_to_rcx}, address);
    EXPECT_GE(chained.cycles_each_round, 14);
    EXPECT_LE(chained.cycles_each_round, 14 + 6);
    EXPECT_GT(chained.lost.share(SlotCause::forwarding), 0.8);
    EXPECT_GT(chained.lost.share_of_instruction(2), 0.8);
    // And without a chain: the next store leaves its buffer after this load retires.
    const Waited apart = run(parameters, {store_lower, store_upper, load_to_rax}, address);
    EXPECT_NEAR(apart.cycles_each_round, chained.cycles_each_round, 4);
}

const Bytes load_rsi = {0x48, 0x8b, 0x06};  // mov (%rsi), %rax

/// A chain of a store and a load that is so far behind it.
Waited store_and_load(const CoreParameters& parameters, std::uint64_t behind) {
    const Bytes chained = {0x48, 0x8b, 0x04, 0xc6};  // mov (%rsi,%rax,8), %rax
    return run(parameters, {store_rax, chained},
               [=](std::size_t step) { return step % 2 ? 0x100000 + behind : 0x100000; });
}

TEST(Waits, ForAStoreToAnotherPageAtTheSamePlaceInItAreTheLoads) {
    CoreParameters parameters = zen4();
    const double apart = store_and_load(parameters, 4096).cycles_each_round;
    parameters.aliased_load_cycles = 7;
    const Waited aliased = store_and_load(parameters, 4096);
    EXPECT_NEAR(aliased.cycles_each_round, apart + 7, 0.5);
    EXPECT_GT(aliased.lost.share(SlotCause::aliasing), 0.9);
    EXPECT_GT(aliased.lost.share_of_instruction(1), 0.9);
    EXPECT_NEAR(store_and_load(parameters, 3 * 4096 + 4).cycles_each_round, apart + 7, 0.5) << "four bytes of eight";
    for (const std::uint64_t elsewhere : {4096 + 8, 4096 - 8, 64, 2048})
        EXPECT_NEAR(store_and_load(parameters, elsewhere).cycles_each_round, apart, 0.1) << elsewhere;
    EXPECT_EQ(store_and_load(parameters, 0).lost.share(SlotCause::aliasing), 0) << "that is forwarding";
}

/// A round is a load of another line, which takes so much longer, and so many operations.
double cycles_of_missed_load(const CoreParameters& parameters, unsigned latency, const Bytes& load,
                             const Bytes& operation, unsigned operations) {
    std::vector<Bytes> code{load};
    code.insert(code.end(), operations, operation);
    constexpr std::size_t rounds = 400;
    const trace::Trace trace = trace_of(code, rounds * code.size(), [](std::size_t k) { return 0x10000 + 64 * k; });
    FixedMemory memory([latency](std::uint64_t) { return latency; });
    return static_cast<double>(simulate(parameters, trace, memory).cycles) / rounds;
}

TEST(Waits, WhatGoesToOnePortWaitsInThatPortsSchedulerAlone) {
    const Bytes load_rcx = {0x48, 0x8b, 0x0f}, multiply_rcx = {0x48, 0x0f, 0xaf, 0xc9}, add_rcx = {0x48, 0x01, 0xc9};
    constexpr unsigned latency = 300, each_round = 8;
    const auto cycles_of_round = [&](const CoreParameters& parameters, const Bytes& operation) {
        return cycles_of_missed_load(parameters, latency, load_rcx, operation, each_round);
    };
    CoreParameters one = zen4(), four = zen4();
    four.schedulers = {{{"ALU0", "AGU0"}, 24}, {{"ALU1", "AGU1"}, 24}, {{"ALU2", "AGU2"}, 24}, {{"ALU3", "BRU1"}, 24}};
    // As many rounds as have their operations in the scheduler wait at a time, and the load of one more.
    constexpr double round = latency + 3 * each_round;
    EXPECT_NEAR(cycles_of_round(four, multiply_rcx), round / (24 / each_round + 1), 4);
    EXPECT_NEAR(cycles_of_round(one, multiply_rcx), round / (96 / each_round + 1), 4);
    EXPECT_NEAR(cycles_of_round(four, add_rcx), cycles_of_round(one, add_rcx), 3) << "any port, any scheduler";
}

TEST(Waits, AnEntryOfASchedulerIsAnothersOnlySomeCyclesAfterItsOperationWasIssued) {
    // As many rounds as have their operations in the scheduler wait at a time, and the load of one more.
    constexpr unsigned latency = 300, each_round = 8, rounds = 96 / each_round + 1;
    const auto cycles_of_round = [&](unsigned release) {
        CoreParameters parameters = zen4();
        parameters.scheduler_release_cycles = release;
        return cycles_of_missed_load(parameters, latency, {0x48, 0x8b, 0x0f}, {0x48, 0x0f, 0xaf, 0xc9}, each_round);
    };
    const double at_once = cycles_of_round(0);
    for (const unsigned release : {13, 26}) EXPECT_NEAR(cycles_of_round(release), at_once + release / rounds, 0.3);
}

TEST(Waits, ForRegistersAreForThoseOfTheKindThatIsWritten) {
    constexpr unsigned latency = 300, each_round = 33;
    const auto cycles_of_round = [&](const char* cpu, const Bytes& load, const Bytes& operation) {
        CoreParameters parameters = zen4();
        parameters.llvm_cpu = cpu;
        parameters.reorder_buffer = 2000;
        return cycles_of_missed_load(parameters, latency, load, operation, each_round - 1);
    };
    const auto general = [&](const char* cpu) { return cycles_of_round(cpu, {0x48, 0x8b, 0x07}, {0xba, 1, 0, 0, 0}); };
    const auto vector = [&](const char* cpu) {
        return cycles_of_round(cpu, {0xc5, 0xfa, 0x7e, 0x17}, {0xc5, 0xf1, 0xfe, 0xc1});
    };
    // LLVM's data: 192 general and 160 vector registers on Zen 3, less 32 that are the program's: four rounds and the
    // load of a fifth, three and the load of a fourth.
    EXPECT_NEAR(general("znver3"), latency / 5.0, 4);
    EXPECT_NEAR(vector("znver3"), latency / 4.0, 4);
    for (const char* const cpu : {"znver1", "znver2", "znver4"}) EXPECT_LT(general(cpu), vector(cpu) - 4) << cpu;
}

TEST(Waits, ForRoomGoOnWhileWhatRetiredIsMadeFree) {
    constexpr unsigned latency = 300, room_cycles = 6, each_round = 63;
    const Bytes load_rcx = {0x48, 0x8b, 0x0f}, no_operation = {0x90};
    CoreParameters parameters = zen4();
    parameters.reorder_buffer = each_round + 1;
    const auto cycles_of_round = [&](const Bytes& operation) {
        return cycles_of_missed_load(parameters, latency, load_rcx, operation, each_round);
    };
    const double at_once = cycles_of_round(no_operation);
    parameters.room_cycles = room_cycles;
    EXPECT_NEAR(cycles_of_round(no_operation), at_once + room_cycles, 0.1);
    // And so is that of registers: here for the lack of them.
    parameters.reorder_buffer = 2000;
    parameters.general_registers = each_round + 1;
    const Bytes constant = {0xba, 1, 0, 0, 0};
    const double later = cycles_of_round(constant);
    parameters.room_cycles = 0;
    EXPECT_NEAR(later, cycles_of_round(constant) + room_cycles, 1);
}

TEST(Waits, AStoreThatHasLeftItsBufferHoldsUpNoLoad) {
    CoreParameters parameters = zen4();
    parameters.aliased_load_cycles = 7;
    const Bytes lfence = {0x0f, 0xae, 0xe8};
    std::vector<Bytes> code{store_rax};
    for (int i = 0; i < 8; ++i) code.push_back(lfence);
    code.push_back(load_rsi);
    const auto fenced =
        run(parameters, code, [&](std::size_t step) { return step % code.size() ? 0x101000u : 0x100000u; });
    EXPECT_EQ(fenced.lost.share(SlotCause::aliasing), 0);
}

#endif

}  // namespace
}  // namespace tmaprobe::model::core
