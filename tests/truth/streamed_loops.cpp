// Which loops a core sends round from its micro-op queue, by the clock: how many taken branches and windows of code
// they may have, and after how many rounds their end is mispredicted. And loops as a compiler writes them, which can be
// run by themselves, to be modelled.
//   c++ -std=c++20 -O2 -o streamed_loops streamed_loops.cpp && ./streamed_loops        x86-64; a quiet machine
//   tmaprobe --repeatable -- ./streamed_loops smooth_called 3000
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "by_clock.h"
#include "written_code.h"

namespace {

constexpr std::size_t many_rounds = 20'000;

/// Each to the next, with nothing executed between them.
void jumps(Code& code, std::size_t count, std::size_t apart) { ::jumps(code, count, apart, apart - 5); }

/// Of one function that does nothing, in a line of its own; 5 or 16 bytes apart.
void calls(Code& code, std::size_t count, std::size_t apart) {
    const std::size_t function = code.size() + line_bytes, behind = function + line_bytes;
    code.branch({0xe9}, behind);
    code.fill_to(function);
    code.put({0xc3});
    code.fill_to(behind);
    for (std::size_t i = 0; i < count; ++i) {
        code.branch({0xe8}, function);
        const std::size_t next = behind + (i + 1) * apart;
        // One no-operation, if any: of many the op cache would not hold the window.
        if (code.size() + 11 == next) code.put({0x66, 0x66, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0});
    }
}

void constants(Code& code, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) code.put({0x48, 0xc7, 0xc1, 1, 0, 0, 0});  // mov $1, rcx
}

/// A loop of so many rounds and jumps in each, and behind it what no queue holds.
void loop(Code& code, int rounds, std::size_t jumps_in_it) {
    code.put({0xb9, rounds, 0, 0, 0});  // mov ecx, rounds
    const std::size_t start = code.size();
    jumps(code, jumps_in_it, 16);
    code.put({0xff, 0xc9});            // dec ecx
    code.branch({0x0f, 0x85}, start);  // jnz
    jumps(code, 40, 32);
}

void print_limits(const CodeMemory& memory) {
    for (const std::size_t apart : {8, 16, 64}) {
        std::printf("jumps %zu bytes apart in a loop, cycles of a round\n ", apart);
        for (const std::size_t count : {1, 3, 4, 5, 8, 11, 14, 15, 16, 17, 24})
            std::printf("  %zu: %.2f", count,
                        cycles_a_round(memory, [&](Code& code) { jumps(code, count, apart); }, many_rounds));
        std::printf("\n");
    }
    for (const std::size_t apart : {5, 16}) {
        std::printf("calls %zu bytes apart in a loop, cycles of a round\n ", apart);
        for (const std::size_t count : {1, 2, 3, 4, 5, 6, 7, 8, 12})
            std::printf("  %zu: %.2f", count,
                        cycles_a_round(memory, [&](Code& code) { calls(code, count, apart); }, many_rounds));
        std::printf("\n");
    }
    std::printf("operations of seven bytes in a loop, cycles of a round less a sixth of each\n ");
    for (const std::size_t count : {24, 48, 96, 120, 144, 156, 180, 240})
        std::printf("  %zu: %.2f", count,
                    cycles_a_round(
                        memory, [&](Code& code) { constants(code, count); }, many_rounds) -
                        static_cast<double>(count + 1) / 6);
    std::printf("\n");
}

void print_ends(const CodeMemory& memory) {
    for (const std::size_t jumps_in_it : {0, 1, 3, 7}) {
        std::printf("a loop with %zu jumps, cycles that it takes longer than with a round less, by rounds\n ",
                    jumps_in_it);
        double before = 0;
        for (int rounds = 1; rounds <= 40; ++rounds) {
            const double now = cycles_a_round(memory, [&](Code& code) { loop(code, rounds, jumps_in_it); }, 2000);
            if (rounds > 1) std::printf("  %d: %.1f", rounds, now - before);
            before = now;
        }
        std::printf("\n");
    }
}

constexpr std::uint32_t points = 4096;
std::vector<float> field(points, 1), smoothed(points);
std::vector<std::uint32_t> values(points);

[[gnu::noinline]] float smooth_called_for_each(float left, float here, float right) {
    return 0.25f * left + 0.5f * here + 0.25f * right;
}
[[gnu::noinline]] std::uint32_t mixed(std::uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
[[gnu::noinline]] std::uint32_t next(std::uint32_t x) { return x + 1; }
[[gnu::noinline]] std::uint32_t weight(std::uint32_t x) { return x * 3 + (x >> 2); }

[[gnu::noinline]] std::uint64_t smooth() {
    for (std::uint32_t i = 1; i + 1 < points; ++i)
        smoothed[i] = 0.25f * field[i - 1] + 0.5f * field[i] + 0.25f * field[i + 1];
    return 0;
}
[[gnu::noinline]] std::uint64_t smooth_called() {
    for (std::uint32_t i = 1; i + 1 < points; ++i)
        smoothed[i] = smooth_called_for_each(field[i - 1], field[i], field[i + 1]);
    return 0;
}
[[gnu::noinline]] std::uint64_t mix() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < points; ++i) sum += mixed(i);
    return sum;
}
[[gnu::noinline]] std::uint64_t count() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < points; ++i) sum += next(i);
    return sum;
}
[[gnu::noinline]] std::uint64_t weigh() {
    std::uint64_t sum = 1;
    for (const std::uint32_t value : values)
        if (value < 1'000'000)
            sum += weight(value) ^ sum >> 3;
        else
            sum -= weight(value) >> 3;
    return sum;
}

constexpr std::pair<std::string_view, std::uint64_t (*)()> compiled[] = {
    {"smooth", smooth}, {"smooth_called", smooth_called}, {"mix", mix}, {"count", count}, {"weigh", weigh}};

void print_compiled() {
    std::printf("loops as compiled, cycles of a round\n ");
    const double cycle = cycle_ns();
    std::uint64_t kept = 0;
    for (const auto& [name, run] : compiled)
        std::printf("  %s: %.2f", name.data(), least_ns(600, [&] { kept += run(); }) / points / cycle);
    std::printf("\n%s", kept == 1 ? " " : "");
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
    for (std::uint32_t i = 0; i < points; ++i) values[i] = i * 500;
    if (count_of_arguments > 2) {
        std::uint64_t kept = 0;
        for (const auto& [name, run] : compiled)
            for (int i = 0; name == arguments[1] && i < std::atoi(arguments[2]); ++i) kept += run();
        return kept == 1;
    }
    const CodeMemory memory(1 << 20);
    if (!memory.is_there()) return 1;
    print_limits(memory);
    print_ends(memory);
    print_compiled();
}
