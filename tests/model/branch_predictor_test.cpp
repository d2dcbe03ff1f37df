#include "model/branch_predictor.h"

#include <gtest/gtest.h>

#include <random>

#include "events/cpu_geometry.h"
#include "events/library.h"

namespace tmaprobe::model {
namespace {

TEST(BranchPredictor, LearnsLoopsAndPatternsAndNotNoise) {
    trace::StaticInstruction branch;
    branch.address = 0x400000;
    branch.length = 2;
    branch.branch = branch.conditional = true;
    const auto missed = [&](auto outcome) {
        BranchPredictor predictor;
        int count = 0;
        for (int i = 0; i < 4000; ++i) {
            const bool miss = predictor.mispredicts(branch, outcome(i), 0);
            if (i >= 1000) count += miss;
        }
        return count / 3000.0;
    };
    std::mt19937 random(3);
    EXPECT_LT(missed([](int) { return true; }), 0.001);
    EXPECT_LT(missed([](int i) { return i % 7 != 0; }), 0.01);
    EXPECT_NEAR(missed([&](int) { return (random() & 1) != 0; }), 0.5, 0.07);
}

TEST(BranchPredictor, ReturnsGoBackToTheirCalls) {
    BranchPredictor predictor;
    trace::StaticInstruction call, back;
    call.address = 0x1000;
    call.length = 5;
    call.branch = call.call = true;
    back.address = 0x2000;
    back.length = 1;
    back.branch = back.returns = back.indirect = true;
    EXPECT_FALSE(predictor.mispredicts(call, true, 0x2000));
    EXPECT_FALSE(predictor.mispredicts(back, true, 0x1005));
    EXPECT_FALSE(predictor.mispredicts(back, true, 0x1005)) << "to a call from before the first branch";
    EXPECT_EQ(predictor.unknown(), 1U);
    predictor.unknown_is_missed();
    EXPECT_TRUE(predictor.mispredicts(back, true, 0x1005));
    for (int i = 0; i < 40; ++i) predictor.mispredicts(call, true, 0x2000);
    int missed = 0;
    for (int i = 0; i < 40; ++i) missed += predictor.mispredicts(back, true, 0x1005);
    EXPECT_EQ(missed, 8) << "deeper than the stack";
}

/// Share of mispredictions of an indirect branch after it has seen much, whose targets follow one another like this.
double missed_of(const std::vector<std::uint64_t>& targets, const events::CoreGeometry& core = {}) {
    BranchPredictor predictor(core);
    trace::StaticInstruction dispatch;
    dispatch.address = 0x5000;
    dispatch.length = 2;
    dispatch.branch = dispatch.indirect = true;
    int missed = 0;
    for (int i = 0; i < 20000; ++i) {
        const bool wrong = predictor.mispredicts(dispatch, true, targets[static_cast<std::size_t>(i) % targets.size()]);
        if (i >= 10000) missed += wrong;
    }
    return missed / 10000.0;
}

TEST(BranchPredictor, SmallTablesOfTargetsForgetLongOrders) {
    std::mt19937 random(3);
    std::vector<std::uint64_t> order;
    for (int i = 0; i < 3000; ++i) order.push_back(0x8000 + 64 * (random() % 6));
    events::CoreGeometry core;
    EXPECT_LT(missed_of(order, core), 0.05);
    core.foretelling.target_entries = 256;
    EXPECT_GT(missed_of(order, core), 0.5);
    order.resize(300);
    EXPECT_LT(missed_of(order, core), 0.05);
}

TEST(BranchPredictor, AnInterpretersDispatchIsForetoldByTheOperationsBefore) {
    std::mt19937 random(5);
    std::vector<std::uint64_t> program;
    for (int i = 0; i < 200; ++i) program.push_back(0x8000 + 64 * (random() % 12));
    EXPECT_LT(missed_of(program), 0.02);
    std::vector<std::uint64_t> noise;
    for (int i = 0; i < 20000; ++i) noise.push_back(0x8000 + 64 * (random() % 12));
    EXPECT_GT(missed_of(noise), 0.7);
}

trace::StaticInstruction indirect_jump() {
    trace::StaticInstruction jump;
    jump.address = 0x5000;
    jump.length = 2;
    jump.branch = jump.indirect = true;
    return jump;
}

TEST(BranchPredictor, WhereAnIndirectJumpGoesAfterAHistoryIsKnownLate) {
    BranchPredictor predictor{events::CoreGeometry{}};
    const trace::StaticInstruction jump = indirect_jump();
    int late = 0, wrong = 0;
    constexpr int times = 4000;
    for (int i = 0; i < times; ++i) {
        const core::Foretold foretold = predictor.foretell(jump, true, i % 2 ? 0x8000 : 0x8040);
        if (i < times / 2) continue;
        late += foretold == core::Foretold::late;
        wrong += foretold == core::Foretold::wrong;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(late, times / 4) << "each second one: the other goes where it does without a history";
    for (int i = 0; i < 100; ++i) late = predictor.foretell(jump, true, 0x8000) == core::Foretold::late;
    EXPECT_EQ(late, 0);
}

TEST(BranchPredictor, OnSomeCoresAFirstGuessAtATargetIsByTheBranchBefore) {
    events::CoreGeometry core;
    core.foretelling.first_guesses = 512;
    core.target_history = {2, 4, 8};
    core.history_bits = 2;
    core.history_first_bit = 2;
    BranchPredictor predictor(core);
    const trace::StaticInstruction jump = indirect_jump();
    trace::StaticInstruction one = jump, other = jump;
    one.indirect = other.indirect = false;
    one.address = 0x4000;
    other.address = 0x4040;
    core::Foretold last = core::Foretold::wrong;
    for (int i = 0; i < 400; ++i) {
        predictor.foretell(i % 2 ? one : other, true, jump.address);
        last = predictor.foretell(jump, true, i % 2 ? 0x8000 : 0x8040);
    }
    EXPECT_EQ(last, core::Foretold::right) << "each behind a jump of its own";
    trace::StaticInstruction earlier = one;
    int late = 0, confirmed = 0;
    for (int i = 0; i < 400; ++i) {
        earlier.address = i % 2 ? 0x4100 : 0x4104;
        predictor.foretell(earlier, true, one.address);
        predictor.foretell(one, true, jump.address);
        const core::Foretold foretold = predictor.foretell(jump, true, i % 2 ? 0x8000 : 0x8040);
        late += i >= 200 && foretold == core::Foretold::late;
        confirmed += i >= 200 && foretold == core::Foretold::confirmed;
    }
    EXPECT_EQ(late, 100) << "the history tells them apart, behind the same jump";
    EXPECT_EQ(confirmed, 100);
}

/// Share of mispredicted calls straight behind another of the same of two functions, in turn, whose returns differ in
/// bit 6 of their address; `between`: of a condition that does not hold, between the two.
double missed_second_calls(bool between) {
    events::CoreGeometry core;
    core.foretelling.first_guesses = 512;
    core.target_history = {2, 4, 8};
    core.history_bits = 2;
    core.history_first_bit = 2;
    core.recent_branches = 2;
    core.recent_return_bits = 0x1c0;
    BranchPredictor predictor(core);
    trace::StaticInstruction call, back, condition;
    call.length = 2;
    call.branch = call.call = call.indirect = true;
    back.length = 1;
    back.branch = back.returns = back.indirect = true;
    condition.address = 0x5002;
    condition.length = 2;
    condition.branch = condition.conditional = true;
    int missed = 0;
    for (int i = 0; i < 2000; ++i) {
        const std::uint64_t function = i % 2 ? 0x8000 : 0x8040;
        bool wrong = false;
        for (const std::uint64_t from : {0x5000, 0x5004}) {
            call.address = from;
            wrong = predictor.mispredicts(call, true, function);
            back.address = function;
            predictor.mispredicts(back, true, from + call.length);
            if (between) predictor.mispredicts(condition, false, 0x6000);
        }
        if (i >= 1000) missed += wrong;
    }
    return missed / 1000.0;
}

TEST(BranchPredictor, ACallStraightBehindAReturnIsToldApartByThatOnesPlaceWhereFirstGuessesAreMade) {
    EXPECT_EQ(missed_second_calls(false), 0);
    EXPECT_GT(missed_second_calls(true), 0.9);
}

/// Two functions, called in turn through a pointer, whose returns of `length` bytes lie so far apart, the first at
/// 0x8000 + `from`: share of mispredicted calls.
double missed_calls(std::uint64_t apart, std::uint8_t length = 1, std::uint64_t from = 0) {
    constexpr unsigned bits = 2, first_bit = 2;
    events::CoreGeometry core;
    core.history_bits = bits;
    core.history_first_bit = first_bit;
    core.target_history = {2, 4, 9, 18, 36, 72, 194};
    BranchPredictor predictor(core);
    trace::StaticInstruction call, back;
    call.address = 0x5000;
    call.length = 2;
    call.branch = call.call = call.indirect = true;
    back.length = length;
    back.branch = back.returns = back.indirect = true;
    int missed = 0;
    for (int i = 0; i < 2000; ++i) {
        back.address = 0x8000 + from + (i % 2 ? 0 : apart);
        const bool wrong = predictor.mispredicts(call, true, back.address);
        predictor.mispredicts(back, true, 0x5002);
        if (i >= 1000) missed += wrong;
    }
    return missed / 1000.0;
}

TEST(BranchPredictor, WhereItIsKnownOnlySomeBitsOfTakenBranchesTellIndirectOnesApart) {
    EXPECT_EQ(missed_calls(4), 0);
    EXPECT_EQ(missed_calls(8), 0);
    EXPECT_GT(missed_calls(16), 0.9);
    EXPECT_GT(missed_calls(1 << 20), 0.9);
    EXPECT_EQ(missed_calls(1, 2, 2), 0) << "the last byte, not the first, decides";
    EXPECT_GT(missed_calls(1, 2, 3), 0.9);
}

TEST(BranchPredictor, ABranchThatRepeatsAnEarlierOneIsForetoldByIt) {
    BranchPredictor predictor;
    trace::StaticInstruction first, again;
    first.address = 0x6000;
    again.address = 0x6100;
    first.length = again.length = 2;
    first.branch = again.branch = first.conditional = again.conditional = true;
    std::mt19937 random(7);
    int missed = 0;
    for (int i = 0; i < 20000; ++i) {
        const bool taken = random() & 1;
        predictor.mispredicts(first, taken, 0x6040);
        const bool wrong = predictor.mispredicts(again, taken, 0x6140);
        if (i >= 10000) missed += wrong;
    }
    EXPECT_LT(missed, 300);
}

/// What a Zen 4 looks back upon.
events::CoreGeometry looks_back() {
    events::CoreGeometry core;
    core.history_bits = 2;
    core.history_first_bit = 2;
    core.target_history = {2, 3, 4, 6, 9, 12, 18};
    core.direction_history = {6, 8, 12, 17, 24, 34, 48};
    core.recent_branches = 3;
    core.recent_target_bits = 0x1f;
    core.recent_return_bits = 0x1c0;
    core.recent_place_bits = 0x1f0;
    return core;
}

/// Of a call by chance to one of two functions, so many jumps and a second branch by the same chance (as
/// tests/truth/branch_reach.cpp has them): share of mispredictions of the second. `starts`, `returns`: how far apart
/// the functions' starts and returns lie.
double missed_behind(int jumps, bool condition, std::uint64_t starts, std::uint64_t returns) {
    BranchPredictor predictor(looks_back());
    trace::StaticInstruction call, back, jump, second;
    call.address = 0x5000;
    call.branch = call.call = call.indirect = true;
    back.branch = back.returns = back.indirect = true;
    jump.branch = true;
    second.address = 0x6000;
    second.branch = true;
    call.length = back.length = jump.length = second.length = 1;
    (condition ? second.conditional : second.indirect) = true;
    std::mt19937 random(11);
    constexpr int turns = 20000;
    int missed = 0;
    for (int i = 0; i < turns; ++i) {
        const bool choice = random() & 1;
        predictor.mispredicts(call, true, 0x8000 + (choice ? starts : 0));
        back.address = 0x9000 + (choice ? returns : 0);
        predictor.mispredicts(back, true, 0x5001);
        for (int each = 0; each < jumps; ++each) {
            jump.address = 0x5100 + static_cast<std::uint64_t>(each) * 0x20;
            predictor.mispredicts(jump, true, jump.address + 0x20);
        }
        const bool wrong = predictor.mispredicts(second, !condition || choice, choice ? 0xa000 : 0xb000);
        if (i >= turns / 2) missed += wrong;
    }
    return missed / (turns / 2.0);
}

/// Of a jump through a pointer to one of two jumps by chance, so many bytes apart, some jumps and a second such one by
/// the same chance: share of mispredictions of the second.
double missed_behind_jumps(int jumps, std::uint64_t apart) {
    BranchPredictor predictor(looks_back());
    trace::StaticInstruction first, there, jump, second;
    first.address = 0x5000;
    second.address = 0x6000;
    for (trace::StaticInstruction* const each : {&first, &there, &jump, &second}) {
        each->branch = true;
        each->length = 1;
    }
    first.indirect = second.indirect = true;
    std::mt19937 random(11);
    constexpr int turns = 20000;
    int missed = 0;
    for (int i = 0; i < turns; ++i) {
        const bool choice = random() & 1;
        there.address = 0x8000 + (choice ? apart : 0);
        predictor.mispredicts(first, true, there.address);
        predictor.mispredicts(there, true, 0x5100);
        for (int each = 0; each < jumps; ++each) {
            jump.address = 0x5100 + static_cast<std::uint64_t>(each) * 0x20;
            predictor.mispredicts(jump, true, jump.address + 0x20);
        }
        const bool wrong = predictor.mispredicts(second, true, choice ? 0xa000 : 0xb000);
        if (i >= turns / 2) missed += wrong;
    }
    return missed / (turns / 2.0);
}

TEST(BranchPredictor, ThePlacesOfTheLastTwoTakenBranchesTellMoreThanTheirHistory) {
    constexpr double told = 0.02, by_chance = 0.4;
    EXPECT_LT(missed_behind_jumps(0, 0x80), told);
    EXPECT_LT(missed_behind_jumps(1, 0x80), told);
    EXPECT_GT(missed_behind_jumps(2, 0x80), by_chance);
    EXPECT_GT(missed_behind_jumps(0, 0x200), by_chance);
}

TEST(BranchPredictor, LooksBackUponAsManyTakenBranchesAsTheCoreDoes) {
    constexpr double told = 0.02, by_chance = 0.4;
    EXPECT_LT(missed_behind(17, false, 0, 4), told);
    EXPECT_GT(missed_behind(18, false, 0, 4), by_chance);
    EXPECT_LT(missed_behind(47, true, 0, 4), told);
    EXPECT_GT(missed_behind(48, true, 0, 4), by_chance);
}

enum class Between { jumps, taken_conditions, other_conditions };

/// A core whose tables look back upon so many taken branches, and besides upon so many taken conditional ones.
events::CoreGeometry with_tables(const std::vector<unsigned>& lengths, const std::vector<unsigned>& conditional = {}) {
    events::CoreGeometry core;
    core.history_bits = 12;
    core.history_target_bits = 6;
    core.direction_history = core.target_history = lengths;
    core.conditional_history = conditional;
    return core;
}

/// Of ten branches by chance, one more, so many between and a branch that goes as that one did (as
/// tests/truth/direction_tables.cpp has them): share of mispredictions of the last.
double missed_copy(const events::CoreGeometry& core, int between, bool indirect, Between kind = Between::jumps) {
    BranchPredictor predictor(core);
    std::vector<trace::StaticInstruction> code;
    constexpr int by_chance = 10;
    for (int i = 0; i < by_chance + 1 + between + 1; ++i) {
        trace::StaticInstruction& each = code.emplace_back();
        each.address = 0x5000 + 16 * static_cast<std::uint64_t>(i);
        each.length = 2;
        each.branch = true;
        each.conditional = i <= by_chance || (i <= by_chance + between && kind != Between::jumps);
    }
    (indirect ? code.back().indirect : code.back().conditional) = true;
    std::mt19937 random(11);
    constexpr int turns = 60'000, learning = 40'000;
    int missed = 0;
    for (int turn = 0; turn < turns; ++turn) {
        bool last_by_chance = false;
        for (std::size_t i = 0; i <= by_chance; ++i) {
            last_by_chance = random() & 1;
            predictor.mispredicts(code[i], last_by_chance, code[i].address + 8);
        }
        for (std::size_t i = by_chance + 1; i + 1 < code.size(); ++i)
            predictor.mispredicts(code[i], kind != Between::other_conditions, code[i].address + 16);
        const bool wrong = predictor.mispredicts(code.back(), indirect || last_by_chance,
                                                 code.back().address + (last_by_chance ? 8 : 16));
        if (turn >= learning) missed += wrong;
    }
    return missed / static_cast<double>(turns - learning);
}

TEST(BranchPredictor, ForetellsByATableThatLooksBackJustFarEnough) {
    constexpr double told = 0.08, by_chance = 0.35;
    for (const bool indirect : {false, true}) {
        for (const int length : {3, 9, 34}) {
            const events::CoreGeometry one_table = with_tables({static_cast<unsigned>(length)});
            EXPECT_LT(missed_copy(one_table, length - 1, indirect), told) << length;
            EXPECT_GT(missed_copy(one_table, length, indirect), by_chance) << length;
        }
        EXPECT_GT(missed_copy(with_tables({194}), 20, indirect), by_chance) << "what is by chance hides what is not";
    }
}

TEST(BranchPredictor, TakenConditionalBranchesAreLookedBackUponWhateverElseIsTaken) {
    constexpr double told = 0.08, by_chance = 0.35;
    const events::CoreGeometry core = with_tables({1, 1}, {1, 26});
    for (const bool indirect : {false, true}) {
        EXPECT_LT(missed_copy(core, 200, indirect, Between::jumps), told);
        EXPECT_LT(missed_copy(core, 200, indirect, Between::other_conditions), told);
        EXPECT_LT(missed_copy(core, 25, indirect, Between::taken_conditions), told);
        EXPECT_GT(missed_copy(core, 26, indirect, Between::taken_conditions), by_chance);
    }
}

TEST(BranchPredictor, AJumpBehindAConditionThatDoesNotHoldIsLookedBackUponWithTheConditions) {
    // A loop that a condition leaves and a jump continues, of so many rounds each time.
    const auto missed_ends = [](int rounds) {
        BranchPredictor predictor(with_tables({1, 1}, {1, 26}));
        trace::StaticInstruction leaves, goes_on, back;
        leaves.address = 0x5000;
        goes_on.address = 0x5002;
        back.address = 0x5100;
        for (trace::StaticInstruction* each : {&leaves, &goes_on, &back}) {
            each->length = 2;
            each->branch = true;
        }
        leaves.conditional = back.conditional = true;
        constexpr int times = 2000, learning = 1000;
        int missed = 0;
        for (int time = 0; time < times; ++time) {
            for (int round = 0; round < rounds; ++round) {
                const bool last = round + 1 == rounds, wrong = predictor.mispredicts(leaves, last, 0x5100);
                missed += time >= learning && wrong;
                if (!last) predictor.mispredicts(goes_on, true, 0x5000);
            }
            predictor.mispredicts(back, true, 0x5000);
        }
        return missed / static_cast<double>(times - learning);
    };
    EXPECT_LT(missed_ends(20), 0.02);
    EXPECT_GT(missed_ends(40), 0.9);
}

TEST(BranchPredictor, TheLastBranchesTellMoreThanTheHistory) {
    constexpr double told = 0.02, by_chance = 0.4;
    for (const bool condition : {false, true}) {
        EXPECT_LT(missed_behind(1, condition, 1 << 4, 0), told) << "where the call went";
        EXPECT_GT(missed_behind(2, condition, 1 << 4, 0), by_chance);
        EXPECT_GT(missed_behind(0, condition, 1 << 5, 1 << 5), by_chance) << "a bit that nothing looks at";
        EXPECT_LT(missed_behind(0, condition, 0, 1 << 6), told) << "where it came back from";
        EXPECT_GT(missed_behind(3, condition, 0, 1 << 6), by_chance);
    }
}

/// Of branches in a loop that go by chance, but the same way in each round, on this CPU: the share foretold wrong once
/// they are well known.
double missed_of_pattern(const events::CoreGeometry& core, std::size_t directions, std::size_t branches) {
    BranchPredictor predictor(core);
    std::mt19937 random(13);
    std::vector<bool> pattern(directions);
    for (std::size_t i = 0; i < directions; ++i) pattern[i] = random() & 1;
    trace::StaticInstruction branch, loop;
    branch.length = loop.length = 2;
    branch.branch = branch.conditional = loop.branch = loop.conditional = true;
    constexpr std::uint64_t first = 0x401000, apart = 16;
    loop.address = first + apart * branches + 8;
    constexpr int rounds = 12, learning = 10;
    std::size_t missed = 0;
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < directions; ++i) {
            branch.address = first + apart * (i % branches);
            const bool wrong = predictor.mispredicts(branch, pattern[i], branch.address + 6);
            if (round >= learning) missed += wrong;
            if (i % branches + 1 == branches) predictor.mispredicts(loop, true, first);
        }
    return static_cast<double>(missed) / static_cast<double>(directions * (rounds - learning));
}

TEST(BranchPredictor, AZen4KnowsThirtyTwoThousandDirectionsByHeart) {
    const events::CoreGeometry core = events::read_cpu_geometry({}, "amdzen4").value().core.value();
    EXPECT_LT(missed_of_pattern(core, 32768, 1), 0.05);
    for (const std::size_t branches : {1, 16}) {
        EXPECT_LT(missed_of_pattern(core, 1024, branches), 0.01) << branches;
        EXPECT_LT(missed_of_pattern(core, 16384, branches), 0.04) << branches;
        EXPECT_GT(missed_of_pattern(core, 131072, branches), 0.2) << branches;
    }
}

}  // namespace
}  // namespace tmaprobe::model
