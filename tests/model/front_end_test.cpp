// What a core's front end takes for branches that are all foretold, and for code that its first level does not have.

#include <gtest/gtest.h>

#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/model/core_fixture.h"

namespace tmaprobe::model::core {
namespace {

/// Every line of code is missed by its first fetch.
class CodeFromSecondLevel final : public MemoryTiming {
  public:
    explicit CodeFromSecondLevel(unsigned latency) : latency_(latency) {}
    Loaded load(std::uint64_t, std::uint64_t, std::uint64_t) override { return {}; }
    std::uint64_t store(std::uint64_t, std::uint64_t, std::uint64_t cycle) override { return cycle; }
    void prefetch(std::uint64_t, std::uint64_t) override {}
    unsigned fetch(std::uint64_t address, std::uint64_t) override {
        return fetched_.insert(address / 64).second ? latency_ : 0;
    }

  private:
    unsigned latency_;
    std::unordered_set<std::uint64_t> fetched_;
};

PipelineFacts facts_of(const CoreParameters& parameters, const trace::Trace& trace, MemoryTiming& memory,
                       BranchOracle& branches) {
    auto core = make_core(parameters);
    auto simulated = (*core)->simulate(trace, {0, trace.steps.size()}, memory, branches);
    EXPECT_TRUE(simulated.has_value());
    return simulated ? simulated->facts : PipelineFacts{};
}

double cycles(const CoreParameters& parameters, const trace::Trace& trace, MemoryTiming& memory,
              BranchOracle& branches) {
    return static_cast<double>(facts_of(parameters, trace, memory, branches).cycles);
}

/// Instructions at addresses, over and over.
trace::Trace around(const std::vector<std::pair<std::uint64_t, Bytes>>& code, std::size_t times) {
    auto decoder = make_decoder("x86_64");
    trace::Trace trace;
    for (const auto& [address, bytes] : code)
        trace.instructions.push_back((*decoder)->decode(bytes.data(), bytes.size(), address));
    for (std::size_t k = 0; k < times * code.size(); ++k)
        trace.steps.push_back({static_cast<std::uint32_t>(k % code.size()), 0x7000, 0x7000});
    return trace;
}

/// A call, the return, and so many jumps.
trace::Trace calls(std::size_t jumps, std::size_t times) {
    std::vector<std::pair<std::uint64_t, Bytes>> code{{0x401000, {0xe8, 0xfb, 0x0f, 0, 0}}, {0x402000, {0xc3}}};
    for (std::size_t i = 0; i < jumps; ++i) code.push_back({0x401005 + 16 * i, {0xeb, 14}});
    code.back().second = jumps ? Bytes{0xe9, 0, 0, 0, 0} : code.back().second;
    return around(code, times);
}

CoreParameters foretelling_zen4() {
    CoreParameters parameters = zen4();
    parameters.foretelling.taken_cycles = 0.5;
    parameters.foretelling.call_cycles = parameters.foretelling.return_cycles = 2;
    parameters.foretelling.lines_ahead = 16;
    return parameters;
}

double cycles_of_calls(const CoreParameters& parameters, std::size_t jumps, TargetKnown where) {
    constexpr std::size_t times = 1000;
    FixedMemory memory([](std::uint64_t) { return 0u; });
    Knows branches(where);
    return cycles(parameters, calls(jumps, times), memory, branches) / times;
}

TEST(FrontEnd, CallsAndReturnsTakeWhatForetellingThemTakes) {
    EXPECT_NEAR(cycles_of_calls(zen4(), 0, TargetKnown::first_level), 2, 0.1);
    EXPECT_NEAR(cycles_of_calls(foretelling_zen4(), 0, TargetKnown::first_level), 4, 0.1);
    EXPECT_NEAR(cycles_of_calls(foretelling_zen4(), 2, TargetKnown::first_level), 5, 0.1) << "half a cycle a jump";
    EXPECT_NEAR(cycles_of_calls(foretelling_zen4(), 6, TargetKnown::first_level), 8, 0.1) << "as many fetches";
}

TEST(FrontEnd, LinesUpToATakenBranchAreForetoldOneAfterAnother) {
    // So many lines of four long no-operations and a short one, a call, its return, and a jump back.
    const Bytes longest = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
    const auto cycles_behind = [&](unsigned lines, double line_cycles) {
        std::vector<std::pair<std::uint64_t, Bytes>> code;
        std::uint64_t at = 0x401000;
        for (unsigned line = 0; line < lines; ++line) {
            for (unsigned i = 0; i < 4; ++i, at += longest.size()) code.push_back({at, longest});
            code.push_back({at, {0x0f, 0x1f, 0x40, 0}});
            at += 4;
        }
        code.push_back({at, {0xe8, 0, 0x10, 0, 0}});
        code.push_back({at + 0x1005, {0xc3}});
        code.push_back({at + 5, {0xe9, 0, 0xf0, 0xff, 0xff}});
        CoreParameters parameters = foretelling_zen4();
        parameters.foretelling.taken_cycles = 1;
        parameters.foretelling.line_cycles = line_cycles;
        constexpr std::size_t times = 1000;
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, around(code, times), memory, branches) / times;
    };
    EXPECT_NEAR(cycles_behind(0, 1), 5, 0.1);
    EXPECT_NEAR(cycles_behind(1, 1), 6, 0.1);
    EXPECT_NEAR(cycles_behind(3, 1), 8, 0.1);
    EXPECT_NEAR(cycles_behind(1, 0), 5, 0.1) << "within what the call takes";
}

TEST(FrontEnd, ABranchThatEndsInTheNextLineIsForetoldWithThatLine) {
    const auto cycles_of_round = [](std::uint64_t begin) {
        const auto back = static_cast<std::uint32_t>(begin - 0x402005);
        const auto there = static_cast<std::uint32_t>(0x402000 - (begin + 5));
        const auto jump = [](std::uint32_t by) {
            return Bytes{0xe9, static_cast<std::uint8_t>(by), static_cast<std::uint8_t>(by >> 8),
                         static_cast<std::uint8_t>(by >> 16), static_cast<std::uint8_t>(by >> 24)};
        };
        CoreParameters parameters = foretelling_zen4();
        parameters.foretelling.taken_cycles = parameters.foretelling.line_cycles = 1;
        constexpr std::size_t times = 1000;
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, around({{begin, jump(there)}, {0x402000, jump(back)}}, times), memory, branches) /
               times;
    };
    EXPECT_NEAR(cycles_of_round(0x401030), 2, 0.1);
    EXPECT_NEAR(cycles_of_round(0x40103c), 3, 0.1);
}

TEST(FrontEnd, TargetsThatAreKnownLaterHoldFetchingUp) {
    CoreParameters parameters = foretelling_zen4();
    parameters.foretelling.second_level_cycles = 3;
    parameters.foretelling.unknown_target_cycles = 12;
    EXPECT_NEAR(cycles_of_calls(parameters, 0, TargetKnown::second_level), 4 + 2 * 3, 0.1);
    const double by_decoder = cycles_of_calls(parameters, 0, TargetKnown::decoder);
    EXPECT_GT(by_decoder, 2 * 12);
    EXPECT_LT(by_decoder, 2 * (12 + 4));
}

TEST(FrontEnd, AFarTargetTakesLongerButForReturns) {
    constexpr std::uint64_t far = 0x7f0000402000;
    constexpr std::size_t times = 1000;
    const trace::Trace trace = around({{0x401000, {0xff, 0xd0}}, {far, {0xc3}}, {0x401002, {0xeb, 0xfc}}}, times);
    CoreParameters parameters = foretelling_zen4();
    const auto cycles_of_round = [&] {
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, trace, memory, branches) / times;
    };
    EXPECT_NEAR(cycles_of_round(), 4.5, 0.1);
    parameters.foretelling.near_target_bits = 37;
    parameters.foretelling.far_target_cycles = 3;
    EXPECT_NEAR(cycles_of_round(), 4.5 + 3, 0.1);
    parameters.foretelling.near_target_bits = 48;
    EXPECT_NEAR(cycles_of_round(), 4.5, 0.1);
}

/// Two blocks that jump to each other, forward and back, each of eight no-operations and the jump; or one that jumps to
/// itself. Cycles of a block.
double cycles_of_blocks(const CoreParameters& parameters, bool other) {
    const std::uint64_t far = other ? 0x1000 : 0;
    std::vector<std::pair<std::uint64_t, Bytes>> code;
    for (const std::uint64_t begin : {0x401000ul, 0x401000ul + far}) {
        for (std::uint64_t i = 0; i < 8; ++i) code.push_back({begin + i, {0x90}});
        const auto to = static_cast<std::uint32_t>(begin == 0x401000 && other ? far - 13 : -13 - far);
        Bytes jump{0xe9};
        for (unsigned byte = 0; byte < 4; ++byte) jump.push_back(static_cast<std::uint8_t>(to >> 8 * byte));
        code.push_back({begin + 8, jump});
    }
    constexpr std::size_t times = 1000;
    FixedMemory memory([](std::uint64_t) { return 0u; });
    NeverWrong branches;
    return cycles(parameters, around(code, times), memory, branches) / (2 * times);
}

TEST(FrontEnd, MayFetchPastATakenBranchThatGoesForward) {
    CoreParameters parameters = zen4();
    parameters.op_cache_width = 8;
    parameters.foretelling.taken_cycles = 0.75;
    EXPECT_NEAR(cycles_of_blocks(parameters, true), 2, 0.05) << "eight, and then the jump";
    parameters.foretelling.fetches_past_forward = true;
    EXPECT_NEAR(cycles_of_blocks(parameters, true), 9 / 6.0, 0.05) << "as many as are renamed";
    EXPECT_NEAR(cycles_of_blocks(parameters, false), 2, 0.05);
    parameters.foretelling.taken_backward_cycles = 3;
    EXPECT_NEAR(cycles_of_blocks(parameters, false), 3, 0.05);
}

/// Whether an instruction and a conditional jump behind it are one operation.
bool fuse(CoreParameters parameters, const Bytes& first, std::uint8_t jump) {
    parameters.fuses_compare_and_branch = true;
    constexpr std::size_t times = 100;
    FixedMemory memory([](std::uint64_t) { return 0u; });
    NeverWrong branches;
    const auto trace = around({{0x401000, first}, {0x401000 + first.size(), {jump, 0}}}, times);
    return facts_of(parameters, trace, memory, branches).macro_fused == times;
}

TEST(Fusion, IsOfWhatSetsFlagsAndOfJumpsThatReadThese) {
    constexpr std::uint8_t jb = 0x72, jne = 0x75, js = 0x78, jl = 0x7c;
    const Bytes compare = {0x48, 0x39, 0xd8}, test = {0x48, 0x85, 0xc0}, decrement = {0x48, 0xff, 0xc8};
    const Bytes compare_memory = {0x48, 0x3b, 0x07}, compare_memory_with_constant = {0x83, 0x3f, 0x00};
    const Bytes exclusive_or = {0x31, 0xc8}, add_vectors = {0xf2, 0x0f, 0x58, 0xc1};
    CoreParameters parameters = zen4();
    for (const std::uint8_t jump : {jb, jne, js, jl}) {
        for (const Bytes& first : {compare, test, decrement}) EXPECT_TRUE(fuse(parameters, first, jump));
        for (const Bytes& first : {compare_memory, exclusive_or, add_vectors})
            EXPECT_FALSE(fuse(parameters, first, jump));
    }
    parameters.fuses_memory_compare = true;
    EXPECT_TRUE(fuse(parameters, compare_memory, jne));
    EXPECT_FALSE(fuse(parameters, compare_memory_with_constant, jne));
    parameters.fuses_by_condition = true;
    for (const std::uint8_t jump : {jb, jne, js, jl}) {
        EXPECT_TRUE(fuse(parameters, test, jump));
        EXPECT_EQ(fuse(parameters, compare, jump), jump != js);
        EXPECT_EQ(fuse(parameters, decrement, jump), jump != js && jump != jb);
    }
}

/// Every branch is foretold so.
class Always final : public BranchOracle {
  public:
    explicit Always(Foretold foretold) : foretold_(foretold) {}
    Foretold foretell(const trace::StaticInstruction&, bool, std::uint64_t) override { return foretold_; }

  private:
    Foretold foretold_;
};

TEST(FrontEnd, WhatIsForetoldLateHoldsFetchingUpTakenOrNot) {
    constexpr std::size_t times = 1000;
    // Two branches that are not taken, and one back to them.
    const trace::Trace trace =
        around({{0x401000, {0x74, 0x10}}, {0x401002, {0x74, 0x10}}, {0x401004, {0xeb, 0xfa}}}, times);
    CoreParameters parameters = foretelling_zen4();
    const auto cycles_of_round = [&](auto branches) {
        FixedMemory memory([](std::uint64_t) { return 0u; });
        return cycles(parameters, trace, memory, branches) / times;
    };
    EXPECT_NEAR(cycles_of_round(Always(Foretold::late)), cycles_of_round(NeverWrong()), 0.01)
        << "where it takes no time";
    parameters.foretelling.late_direction_cycles = 3;
    EXPECT_NEAR(cycles_of_round(Always(Foretold::late)), 2 * 3 + 0.5, 0.1) << "of two directions";
    parameters.foretelling.late_target_cycles = 4;
    EXPECT_NEAR(cycles_of_round(Always(Foretold::late)), 2 * 3 + 4 + 0.5, 0.1) << "and a target";
    EXPECT_LT(cycles_of_round(NeverWrong()), 2);
}

TEST(FrontEnd, ATargetThatIsConfirmedIsLateByLessAndACallHidesSomeOfIt) {
    constexpr std::size_t times = 1000;
    CoreParameters parameters = foretelling_zen4();
    parameters.foretelling.call_cycles = parameters.foretelling.indirect_cycles = 2;
    parameters.foretelling.late_target_cycles = 8;
    parameters.foretelling.confirmed_target_cycles = 3;
    parameters.foretelling.late_hidden_by_call = 1;
    const auto cycles_of_round = [&](const Bytes& to_itself, Foretold foretold) {
        FixedMemory memory([](std::uint64_t) { return 0u; });
        Always branches(foretold);
        return cycles(parameters, around({{0x401000, to_itself}}, times), memory, branches) / times;
    };
    const Bytes jump{0xff, 0xe0}, call{0xff, 0xd0};
    EXPECT_NEAR(cycles_of_round(jump, Foretold::right), 2, 0.1);
    EXPECT_NEAR(cycles_of_round(jump, Foretold::confirmed), 2 + 3, 0.1);
    EXPECT_NEAR(cycles_of_round(jump, Foretold::late), 2 + 8, 0.1);
    EXPECT_NEAR(cycles_of_round(call, Foretold::confirmed), 2 + 2, 0.1);
    EXPECT_NEAR(cycles_of_round(call, Foretold::late), 2 + 7, 0.1);
}

TEST(FrontEnd, ItTakesLongerToBeginAgainAfterAnIndirectJump) {
    constexpr std::size_t times = 1000;
    const auto cycles_of_round = [&](const Bytes& jump, unsigned more) {
        CoreParameters parameters = zen4();
        parameters.indirect_penalty = more;
        FixedMemory memory([](std::uint64_t) { return 0u; });
        Always branches(Foretold::wrong);
        return cycles(parameters, around({{0x401000, jump}}, times), memory, branches) / times;
    };
    const Bytes through_register{0xff, 0xe0}, direct{0xeb, 0xfe};
    EXPECT_NEAR(cycles_of_round(through_register, 5) - cycles_of_round(through_register, 0), 5, 0.1);
    EXPECT_NEAR(cycles_of_round(direct, 5) - cycles_of_round(direct, 0), 0, 0.1);
}

TEST(FrontEnd, ATakenBranchEndsWhatIsDecodedInACycleOrNot) {
    // Five no-operations and a jump to the next ones, without an op cache: a cycle and a half by what is decoded.
    constexpr std::size_t times = 500, blocks = 4;
    const auto cycles_of_block = [&](bool decodes_past_taken) {
        std::vector<std::pair<std::uint64_t, Bytes>> code;
        for (std::uint64_t block = 0; block < blocks; ++block) {
            const std::uint64_t begin = 0x401000 + 32 * block;
            for (std::uint64_t i = 0; i < 5; ++i) code.push_back({begin + 4 * i, {0x0f, 0x1f, 0x40, 0x00}});
            const auto there = static_cast<std::uint8_t>(block + 1 < blocks ? 10 : 10 - 32 * blocks);
            code.push_back({begin + 20, {0xeb, there}});
        }
        CoreParameters parameters = zen4();
        parameters.op_cache_windows = 0;
        parameters.decode_width = 4;
        parameters.decode_bytes = 32;
        parameters.decodes_past_taken = decodes_past_taken;
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, around(code, times), memory, branches) / times / blocks;
    };
    EXPECT_NEAR(cycles_of_block(false), 2, 0.1);
    EXPECT_NEAR(cycles_of_block(true), 1.5, 0.1);
}

TEST(FrontEnd, ACycleBringsWhatIsInOneWindowOfTheOpCache) {
    constexpr std::size_t times = 1000;
    // Four no-operations and a jump back, in one window or across the end of one.
    const auto cycles_of_round = [&](std::uint64_t begin, bool one_window) {
        std::vector<std::pair<std::uint64_t, Bytes>> code;
        for (std::uint64_t i = 0; i < 4; ++i) code.push_back({begin + 4 * i, {0x0f, 0x1f, 0x40, 0x00}});
        code.push_back({begin + 16, {0xeb, 0xee}});
        CoreParameters parameters = zen4();
        parameters.op_cache_one_window = one_window;
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, around(code, times), memory, branches) / times;
    };
    EXPECT_NEAR(cycles_of_round(0x401000, true), 1, 0.1);
    EXPECT_NEAR(cycles_of_round(0x401000 + 56, true), 2, 0.1);
    EXPECT_NEAR(cycles_of_round(0x401000 + 56, false), 1, 0.1);
}

TEST(FrontEnd, WindowsCostNothingInAShortLoopThatGoesRoundOften) {
    // A no-operation and a jump back, across the end of a window.
    const std::vector<std::pair<std::uint64_t, Bytes>> code{{0x401038, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
                                                            {0x401040, {0xeb, 0xf6}}};
    const auto cycles_of_rounds = [&](std::size_t rounds, unsigned streamed_after) {
        CoreParameters parameters = zen4();
        parameters.op_cache_one_window = true;
        parameters.op_cache_loop_rounds = streamed_after;
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, around(code, rounds), memory, branches);
    };
    EXPECT_NEAR(cycles_of_rounds(1000, 0), 2000, 100);
    EXPECT_NEAR(cycles_of_rounds(1000, 8), 1000, 100);
    EXPECT_EQ(cycles_of_rounds(8, 8), cycles_of_rounds(8, 0));
}

TEST(FrontEnd, ALoopFromTheQueueCostsNothingButItsSlotsAndTheMispredictionThatEndsIt) {
    // A call and a return, and a jump back.
    const std::vector<std::pair<std::uint64_t, Bytes>> code{
        {0x401000, {0xe8, 0xfb, 0x0f, 0, 0}}, {0x402000, {0xc3}}, {0x401005, {0xeb, 0xf9}}};
    CoreParameters parameters = zen4();
    parameters.foretelling.call_cycles = parameters.foretelling.return_cycles = 2;
    parameters.foretelling.taken_cycles = 1;
    FixedMemory memory([](std::uint64_t) { return 0u; });
    NeverWrong branches;
    constexpr std::size_t times = 1000;
    EXPECT_NEAR(cycles(parameters, around(code, times), memory, branches) / times, 5, 0.1);
    parameters.loop_streaming = {
        .blocks = 16, .line_branches = 5, .after_branches = 30, .after_rounds = 2, .branches_a_cycle = 3};
    EXPECT_LT(cycles(parameters, around(code, times), memory, branches) / times, 3);

    trace::Trace left = around(code, times);
    left.steps.insert(left.steps.end(), 60, {2, 0, 0});  // the jump leads elsewhere: to itself
    EXPECT_EQ(facts_of(parameters, left, memory, branches).mispredicts, 1u);
    parameters.loop_streaming.blocks = 2;
    EXPECT_EQ(facts_of(parameters, left, memory, branches).mispredicts, 0u);
}

TEST(FrontEnd, LongStraightCodeOfTooManySlotsComesFromTheDecoders) {
    // No-operations of so many bytes, and a jump back.
    const auto cycles_of_one = [&](std::uint8_t bytes, std::size_t count, unsigned most_slots) {
        CoreParameters parameters = zen4();
        parameters.op_cache_windows = 512;
        parameters.op_cache_window_slots = most_slots;
        parameters.op_cache_straight_windows = 8;
        parameters.dense_decode_bytes = 8;
        Bytes no_operation{0x0f, 0x1f, 0x40, 0x00};
        if (bytes == 3) no_operation = {0x0f, 0x1f, 0x00};
        std::vector<std::pair<std::uint64_t, Bytes>> code;
        for (std::size_t i = 0; i < count; ++i) code.push_back({0x401000 + bytes * i, no_operation});
        const auto back = static_cast<std::int32_t>(bytes * count + 5);
        code.push_back({0x401000 + bytes * count,
                        {0xe9, static_cast<std::uint8_t>(-back & 0xff), static_cast<std::uint8_t>(-back >> 8 & 0xff),
                         0xff, 0xff}});
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        constexpr std::size_t times = 20;
        return cycles(parameters, around(code, times), memory, branches) / static_cast<double>(times * count);
    };
    EXPECT_NEAR(cycles_of_one(3, 2000, 0), 1 / 6.0, 0.01) << "of no kind of code";
    EXPECT_NEAR(cycles_of_one(3, 2000, 18), 3 / 8.0, 0.03);
    EXPECT_NEAR(cycles_of_one(4, 2000, 18), 1 / 6.0, 0.01) << "16 of them in a window";
    EXPECT_NEAR(cycles_of_one(3, 150, 18), 1 / 6.0, 0.02) << "too short";
}

TEST(FrontEnd, WhatPutsADirectionRightKnowsItsTarget) {
    const auto cycles_a_jump = [](bool later) {
        CoreParameters parameters = foretelling_zen4();
        parameters.foretelling.late_direction_cycles = 3;
        parameters.foretelling.second_level_least_cycles = later ? 6 : 0;
        parameters.foretelling.second_in_line_later = later;
        // Two conditional jumps of a line, which are taken, and one back.
        const std::vector<std::pair<std::uint64_t, Bytes>> code{
            {0x401000, {0x74, 0x0e}}, {0x401010, {0x74, 0x0e}}, {0x401020, {0x74, 0xde}}};
        FixedMemory memory([](std::uint64_t) { return 0u; });
        Always branches(Foretold::late);
        constexpr std::size_t times = 500;
        return cycles(parameters, around(code, times), memory, branches) / (3 * times);
    };
    EXPECT_NEAR(cycles_a_jump(true), cycles_a_jump(false), 0.05);
}

TEST(FrontEnd, TwoTakenBranchesOfALineOneAfterAnotherTakeAsLongAsThoseOfTheSecondLevel) {
    constexpr std::size_t times = 1000;
    const auto cycles_of_round = [&](std::uint64_t second, bool later) {
        CoreParameters parameters = foretelling_zen4();
        parameters.foretelling.fetches_past_forward = true;
        parameters.foretelling.taken_backward_cycles = 1;
        parameters.foretelling.second_level_least_cycles = 4;
        parameters.foretelling.second_in_line_later = later;
        const auto to_second = static_cast<std::uint8_t>(second - 0x401002);
        const auto back = static_cast<std::uint8_t>(0x401000 - (second + 4));
        // Two jumps forward, of which the first comes after the one back.
        const std::vector<std::pair<std::uint64_t, Bytes>> code{
            {0x401000, {0xeb, to_second}},
            {second, {0xeb, 0}},
            {second + 2, {0xeb, back}},
        };
        FixedMemory memory([](std::uint64_t) { return 0u; });
        NeverWrong branches;
        return cycles(parameters, around(code, times), memory, branches) / times;
    };
    EXPECT_NEAR(cycles_of_round(0x401010, true) - cycles_of_round(0x401010, false), 2 * 3.5, 0.2);
    EXPECT_NEAR(cycles_of_round(0x401040, true), cycles_of_round(0x401040, false), 0.1);
}

TEST(FrontEnd, WhatTheSecondLevelKnowsTakesSoManyCyclesAtLeast) {
    CoreParameters parameters = foretelling_zen4();
    parameters.foretelling.second_level_least_cycles = 2;
    const auto later = [&](std::size_t jumps) {
        return cycles_of_calls(parameters, jumps, TargetKnown::second_level) -
               cycles_of_calls(parameters, jumps, TargetKnown::first_level);
    };
    EXPECT_NEAR(later(0), 0, 0.1) << "a call and its return take two cycles each anyway";
    EXPECT_NEAR(later(4), 4 * 1.5, 0.3);
}

/// Cycles of one repeated string instruction that moves so many pieces, between two others.
double cycles_of_string(const Bytes& code, std::size_t pieces, unsigned start_cycles, unsigned longer_cycles = 0) {
    CoreParameters parameters = zen4();
    parameters.repeated_string_cycles = start_cycles;
    parameters.longer_string_cycles = longer_cycles;
    trace::Trace trace = trace_of({code, {0x89, 0xd2}}, 0, {});  // mov %edx, %edx
    constexpr std::size_t times = 200;
    for (std::size_t time = 0; time < times; ++time) {
        for (std::uint64_t piece = 0; piece < pieces; ++piece)
            trace.steps.push_back({0, trace.instructions[0].loads ? 0x20000 + 32 * piece : 0, 0x10000 + 32 * piece});
        trace.steps.push_back({1, 0, 0});
    }
    FixedMemory memory([](std::uint64_t) { return 0u; });
    return static_cast<double>(simulate(parameters, trace, memory).cycles) / times;
}

TEST(FrontEnd, ARepeatedStringInstructionMovesAPieceACycleOnceItHasBegun) {
    const Bytes stosb{0xf3, 0xaa}, stosq{0xf3, 0x48, 0xab}, movsb{0xf3, 0xa4}, movsq{0xf3, 0x48, 0xa5};
    for (const Bytes& code : {stosb, stosq, movsb, movsq}) {
        EXPECT_NEAR(cycles_of_string(code, 100, 18), 118, 3);
        EXPECT_NEAR(cycles_of_string(code, 100, 30), 130, 3);
        EXPECT_NEAR(cycles_of_string(code, 1, 18), 19, 3);
        EXPECT_NEAR(cycles_of_string(code, 2, 18, 15), 20, 3);
        EXPECT_NEAR(cycles_of_string(code, 100, 18, 15), 133, 3);
    }
}

TEST(FrontEnd, AStringInstructionByItselfBeginsNothing) {
    const Bytes stosb{0xaa};
    EXPECT_DOUBLE_EQ(cycles_of_string(stosb, 10, 18), cycles_of_string(stosb, 10, 30));
}

TEST(FrontEnd, LinesAreAskedForAheadOfFetching) {
    constexpr std::size_t instructions = 4000, in_line = 16;
    std::vector<std::pair<std::uint64_t, Bytes>> code;
    for (std::size_t i = 0; i < instructions; ++i) code.push_back({0x400000 + 4 * i, {0x0f, 0x1f, 0x40, 0x00}});
    const trace::Trace trace = around(code, 1);
    const auto cycles_of_line = [&](unsigned lines_ahead, unsigned latency) {
        CoreParameters parameters = zen4();
        parameters.decode_width = 4;
        parameters.decode_bytes = 32;
        parameters.foretelling.lines_ahead = lines_ahead;
        CodeFromSecondLevel memory(latency);
        NeverWrong branches;
        return cycles(parameters, trace, memory, branches) / (instructions / in_line);
    };
    EXPECT_GT(cycles_of_line(0, 14), 14) << "each miss is waited for";
    EXPECT_NEAR(cycles_of_line(16, 14), in_line / 4, 0.5) << "as fast as it is decoded";
    EXPECT_NEAR(cycles_of_line(16, 160), 160.0 / 16, 1) << "so many on their way at a time";
}

TEST(FrontEnd, ALineThatTheFirstLevelDoesNotHaveComesAtItsOwnRate) {
    std::vector<std::pair<std::uint64_t, Bytes>> code;
    for (std::size_t i = 0; i < 4000; ++i) code.push_back({0x400000 + 8 * i, {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}});
    const trace::Trace trace = around(code, 1);
    constexpr double lines = 500;
    const auto facts_with = [&](unsigned bytes) {
        CoreParameters parameters = zen4();
        parameters.decode_bytes = 32;
        parameters.missed_line_bytes = bytes;
        parameters.foretelling.lines_ahead = 16;
        CodeFromSecondLevel memory(14);
        NeverWrong branches;
        return facts_of(parameters, trace, memory, branches);
    };
    const auto because_of_the_cache = [](const PipelineFacts& facts) {
        return static_cast<double>(facts.by_cause[static_cast<std::size_t>(SlotCause::instruction_cache)]);
    };
    const PipelineFacts at_once = facts_with(0), slowly = facts_with(16);
    EXPECT_NEAR(static_cast<double>(at_once.cycles) / lines, 2, 0.2);
    EXPECT_NEAR(static_cast<double>(slowly.cycles) / lines, 4, 0.2);
    // Four cycles of six slots, less the eight instructions.
    EXPECT_GT(because_of_the_cache(slowly) / lines, 12);
    EXPECT_LT(because_of_the_cache(at_once) / lines, 1);
}

TEST(FrontEnd, LinesThatTheFirstLevelDoesNotHaveComeSoManyCyclesApart) {
    constexpr std::size_t lines = 500;
    const auto cycles_a_line = [&](double apart) {
        CoreParameters parameters = foretelling_zen4();
        parameters.op_cache_windows = 0;
        parameters.decode_bytes = 64;
        parameters.missed_line_cycles = apart;
        std::vector<std::pair<std::uint64_t, Bytes>> code;
        for (std::uint64_t i = 0; i < lines; ++i) code.push_back({0x401000 + 64 * i, {0xeb, 62}});
        CodeFromSecondLevel memory(14);
        NeverWrong branches;
        return cycles(parameters, around(code, 1), memory, branches) / lines;
    };
    EXPECT_LT(cycles_a_line(0), 2);
    EXPECT_NEAR(cycles_a_line(4), 4, 0.2);
    EXPECT_NEAR(cycles_a_line(7), 7, 0.2);
}

}  // namespace
}  // namespace tmaprobe::model::core
