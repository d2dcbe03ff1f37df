// How many taken branches each table of a core's branch predictor looks back upon, by the clock.
//   c++ -std=c++20 -O2 -o direction_tables direction_tables.cpp && ./direction_tables      x86-64; a quiet machine
//
// In each turn some branches go by chance, then one more, then come so many jumps, and a last branch goes as that one
// did. A table that looks back upon fewer taken branches than there are jumps cannot know how; one that looks back upon
// many more sees the branches by chance as well, too often another way to learn any. So where the last branch is
// foretold, there is a table that looks back just as far. The same with conditional branches that are always taken in
// the place of the jumps, which some cores look back upon apart from all others.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "by_clock.h"
#include "written_code.h"

namespace {

using Run = void (*)(const std::uint64_t* from, const std::uint64_t* to);
enum class Last { condition, jump };
enum class Between { jumps, conditions };
constexpr int by_chance = 10, first_free_bit = 16, never_set = 63;

/// A branch over a no-operation by that bit of rdx.
void branch_by_bit(Code& code, int bit) {
    code.put({0x48, 0x0f, 0xba, 0xe2, bit});  // bt bit, rdx
    code.put({0x72, 1, 0x90});                // jc, over nop
}

/// A jump to one of two places, by that bit of rdx.
void jump_by_bit(Code& code, int bit) {
    code.put({0x48, 0x89, 0xd0, 0x48, 0xc1, 0xe8, bit, 0x83, 0xe0, 1});  // mov rax, rdx; shr rax, bit; and eax, 1
    code.put({0x48, 0x8d, 0x0d, 8, 0, 0, 0});                            // lea rcx, 8(rip): behind the jump, 2 bytes on
    code.put({0x48, 0x8d, 0x0c, 0xc1, 0xff, 0xe1, 0x66, 0x90});          // lea rcx, (rcx,rax,8); jmp rcx; nop
    code.no_operations(4);
}

/// Turns by one number each, whose bit 0 decides the branch before those between, and `last_bit` the one behind them.
Code turns_of(int between, Between kind, Last last, int last_bit) {
    Code code;
    code.branch({0xe9}, line_bytes);
    code.fill_to(line_bytes);
    code.put({0x48, 0x8b, 0x17, 0x48, 0x83, 0xc7, 8});  // mov rdx, (rdi); add rdi, 8
    for (int i = 0; i < by_chance; ++i) branch_by_bit(code, 1 + i);
    branch_by_bit(code, 0);
    code.put({0x31, 0xc0});  // xor eax, eax: the conditions are taken
    for (int i = 0; i < between; ++i) {
        const std::size_t bytes = kind == Between::jumps ? 5 : 6;
        const std::size_t next = (code.size() + bytes + line_bytes - 1) / line_bytes * line_bytes;
        if (kind == Between::jumps)
            code.branch({0xe9}, next);
        else
            code.branch({0x0f, 0x84}, next);  // jz
        code.fill_to(next);
    }
    if (last == Last::condition)
        branch_by_bit(code, last_bit);
    else
        jump_by_bit(code, last_bit);
    code.put({0x48, 0x39, 0xf7});           // cmp rdi, rsi
    code.branch({0x0f, 0x85}, line_bytes);  // jne
    code.put({0xc3});
    return code;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// The median of turns by these numbers, each time some of them, after the branches are known as far as they will be.
double turn_ns(Run run, const std::vector<std::uint64_t>& numbers) {
    constexpr std::size_t parts = 4, learning = 3, times = 9;
    const std::size_t turns = numbers.size() / parts;
    std::vector<double> took;
    for (std::size_t time = 0; time < times; ++time) {
        const std::uint64_t* from = numbers.data() + time % parts * turns;
        const double start = now_ns();
        run(from, from + turns);
        if (time >= learning) took.push_back((now_ns() - start) / static_cast<double>(turns));
    }
    return median(took);
}

/// The share of the last branches that are not foretold, by turns whose last branch always goes one way, and turns
/// where it goes by a chance of its own: one after the other, since what else the machine does changes, and in the same
/// place, since what is known of the jumps depends on it.
double not_foretold(const CodeMemory& memory, int between, Between kind, Last last,
                    const std::vector<std::uint64_t>& numbers) {
    constexpr int times = 7;
    std::vector<double> as_before, by_itself;
    for (int time = 0; time < times; ++time) {
        const auto with_last = [&](int bit) {
            return turn_ns(memory.hold<Run>(turns_of(between, kind, last, bit)), numbers);
        };
        const double known = with_last(never_set);
        as_before.push_back(with_last(0) - known);
        by_itself.push_back(with_last(first_free_bit) - known);
    }
    return median(as_before) / median(by_itself);
}

void print_reach(Last last, Between kind, const std::vector<std::uint64_t>& numbers) {
    const CodeMemory memory(1 << 16);
    if (!memory.is_there()) return;
    std::printf("%s that goes as one before so many %s, share not foretold:",
                last == Last::condition ? "a condition" : "an indirect jump",
                kind == Between::jumps ? "jumps" : "taken conditions");
    std::vector<int> numbers_between;
    for (int each = 0; each <= 74; ++each) numbers_between.push_back(each);
    for (int each = 98; each <= 178; each += 4) numbers_between.push_back(each);
    for (int each = 186; each <= 198; each += 2) numbers_between.push_back(each);
    for (const int between : numbers_between) {
        std::printf("  %d: %.0f%%", between, 100 * not_foretold(memory, between, kind, last, numbers));
        std::fflush(stdout);
    }
    std::printf("\n");
}

}  // namespace

int main() {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> numbers(1 << 17);
    for (std::uint64_t& number : numbers) number = random() & ~(std::uint64_t{1} << never_set);
    for (const Between kind : {Between::jumps, Between::conditions}) {
        print_reach(Last::condition, kind, numbers);
        print_reach(Last::jump, kind, numbers);
    }
    return 0;
}
