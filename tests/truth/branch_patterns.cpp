// How many directions of conditional branches a core knows, by the clock: branches in a loop go by chance, but the same
// way in each round. What is mispredicted costs a round tens of cycles, and what the predictor's first level has wrong,
// some.
//   c++ -std=c++20 -O2 -o branch_patterns branch_patterns.cpp && ./branch_patterns    x86-64; a quiet machine
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "by_clock.h"
#include "written_code.h"

namespace {

using Directions = std::vector<std::uint8_t>;
using Loop = void (*)(const std::uint8_t* from, const std::uint8_t* to);

/// Of each turn, so many branches, so many bytes from one to the next: each over a sum, and no-operations behind it,
/// three of them if there are 16 bytes.
Loop loop(std::uint32_t branches, std::size_t apart = 16) {
    Code code;
    for (std::uint32_t i = 0; i < branches; ++i) {
        code.put({0x80, 0xbf});  // cmpb $0, i(%rdi)
        code.number(i);
        code.put({0, 0x74, 4, 0x48, 0x83, 0xc0, 1});  // je, over add $1, %rax
        while (code.size() < (i + 1) * apart) code.put({0x90});
    }
    code.put({0x48, 0x81, 0xc7});  // add $branches, %rdi
    code.number(branches);
    code.put({0x48, 0x39, 0xf7});  // cmp %rsi, %rdi
    code.branch({0x0f, 0x85}, 0);  // jne
    code.put({0xc3});
    const CodeMemory memory(1 << 16);
    return memory.is_there() ? memory.hold<Loop>(code) : nullptr;
}

Directions by_chance(std::size_t count, unsigned percent_taken) {
    std::mt19937 random(static_cast<unsigned>(count));
    Directions directions(count);
    for (std::uint8_t& direction : directions) direction = random() % 100 >= percent_taken;
    return directions;
}

/// Of a branch, after it has been met very often.
double learnt_ns(Loop run, const Directions& directions) {
    const std::size_t rounds = std::max<std::size_t>(200, 1'000'000 / directions.size());
    for (std::size_t round = 0; round < rounds; ++round) run(directions.data(), directions.data() + directions.size());
    constexpr int tries = 20;
    const std::size_t together = std::max<std::size_t>(1, 20'000 / directions.size());
    std::vector<double> took;
    for (int i = 0; i < tries; ++i) {
        const double start = now_ns();
        for (std::size_t round = 0; round < together; ++round)
            run(directions.data(), directions.data() + directions.size());
        took.push_back((now_ns() - start) / static_cast<double>(directions.size() * together));
    }
    std::sort(took.begin(), took.end());
    return took[tries / 8];
}

/// Of a turn of a chain of six operations and a branch by the bits of its result that are asked for.
double chain_ns(std::uint64_t bits) {
    constexpr int turns = 4'000'000;
    std::uint64_t state = 88172645463325252u, sum = 0;
    const double start = now_ns();
    for (int i = 0; i < turns; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        asm volatile("test %2, %1\n jz 1f\n add $3, %0\n 1:" : "+r"(sum) : "r"(state), "r"(bits) : "cc");
    }
    return (now_ns() - start) / turns;
}

/// What a misprediction takes: half of the directions by chance are wrong, of those that are all the same none.
void print_mispredictions(double cycle) {
    constexpr std::size_t too_many = 1 << 20;
    const Loop run = loop(1);
    if (!run) return;
    const double behind_load = learnt_ns(run, by_chance(too_many, 50)) - learnt_ns(run, by_chance(too_many, 0));
    std::printf("a misprediction, cycles: behind a load %.1f, behind a chain of six operations %.1f\n",
                2 * behind_load / cycle, 2 * (chain_ns(1) - chain_ns(0)) / cycle);
}

/// Short loops of so many rounds, one after the other, in a loop: what leaving one costs that is known to end there.
double short_loop_ns(std::uint32_t loops, std::uint32_t rounds) {
    Code code;
    for (std::uint32_t i = 0; i < loops; ++i) {
        code.put({0xb8});  // mov $rounds, %eax
        code.number(rounds);
        code.put({0xff, 0xc8, 0x75, 0xfc});  // dec %eax; jnz
    }
    constexpr int size_of_the_end = 5;
    const int back = -static_cast<int>(code.size()) - size_of_the_end;
    code.put({0x48, 0xff, 0xcf, 0x75, back, 0xc3});  // dec %rdi; jnz; ret
    constexpr std::uint64_t turns = 10'000;
    constexpr int tries = 100;
    const CodeMemory memory(1 << 12);
    if (!memory.is_there()) return 0;
    const auto run = memory.hold<void (*)(std::uint64_t)>(code);
    return least_ns(tries, [&] { run(turns); }) / static_cast<double>(turns * loops);
}

void print_short_loops(double cycle) {
    for (const std::uint32_t loops : {1, 4}) {
        std::printf("%u short loops in a loop; cycles of one, by its rounds:", loops);
        for (const std::uint32_t rounds : {1, 2, 3, 4, 5, 8, 16})
            std::printf("  %u: %.2f", rounds, short_loop_ns(loops, rounds) / cycle);
        std::printf("\n");
    }
}

/// Whether it depends on where branches lie how long an order of directions may be: in a predictor whose tables have a
/// half for each value of a bit of their address, as long again for branches that differ in that bit.
void print_places() {
    constexpr std::size_t known_length = 256, too_long = 1 << 18;
    for (const auto& [branches, apart] :
         {std::pair<std::uint32_t, std::size_t>{1, 16}, {2, 16}, {2, 32}, {2, 64}, {2, 128}, {4, 64}, {8, 16}}) {
        const Loop run = loop(branches, apart);
        if (!run) return;
        const auto learnt = [&](std::size_t length) { return learnt_ns(run, by_chance(length, 50)); };
        const double known = learnt(known_length), unknown = learnt(too_long);
        std::printf("%u branches, %zu bytes apart; share not foretold, by the length of the pattern:", branches, apart);
        for (const std::size_t length : {2048, 4096, 6144, 8192, 12288, 16384, 24576, 32768})
            std::printf("  %zu: %.0f%%", length, 100 * (learnt(length) - known) / (unknown - known));
        std::printf("\n");
    }
}

}  // namespace

int main() {
    const double cycle = cycle_ns();
    print_mispredictions(cycle);
    print_short_loops(cycle);
    print_places();
    for (const unsigned percent : {50, 25, 10})
        for (const std::uint32_t branches : {1, 2, 4, 16, 64}) {
            const Loop run = loop(branches);
            if (!run) return 1;
            std::printf("%u%% taken, %2u branches in turns; cycles of each, by the length of the pattern:", percent,
                        branches);
            for (const std::size_t length : {256, 512, 1024, 1280, 1536, 2048, 4096, 16384, 32768, 65536, 131072})
                std::printf("  %zu: %.2f", length, learnt_ns(run, by_chance(length, percent)) / cycle);
            std::printf("\n");
        }
    std::printf("50%% taken, 1 branch; cycles of each, by the round in which it is met:\n");
    const Loop run = loop(1);
    for (const std::size_t length : {2048, 8192, 32768, 65536}) {
        const Directions directions = by_chance(length, 50);
        std::printf("  %zu:", length);
        for (int round = 1; round <= 16; ++round) {
            const double start = now_ns();
            run(directions.data(), directions.data() + directions.size());
            std::printf(" %.1f", (now_ns() - start) / static_cast<double>(length) / cycle);
        }
        std::printf("\n");
    }
    return 0;
}
