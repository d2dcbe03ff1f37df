// What taken branches cost by where they lie, and how many targets of indirect branches are foretold, by the clock.
//   c++ -std=c++20 -O2 -o taken_branches taken_branches.cpp && ./taken_branches        x86-64; a quiet machine
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <vector>

#include "by_clock.h"
#include "written_code.h"

namespace {

/// `dec` and `jnz` behind so many no-operations, so many bytes behind the beginning of a line, so many rounds each
/// time.
void loop(Code& code, std::size_t no_operations, std::size_t behind, int rounds) {
    code.put({0xb9, rounds, 0, 0, 0});  // mov ecx, rounds
    const std::size_t start = (code.size() / line_bytes + 1) * line_bytes + behind;
    code.branch({0xe9}, start);
    code.fill_to(start);
    code.no_operations(no_operations);
    code.put({0xff, 0xc9});            // dec ecx
    code.branch({0x0f, 0x85}, start);  // jnz
}

/// `dec`, `jz` out of it and a jump back, so many rounds each time.
void loop_by_jump(Code& code, int rounds) {
    constexpr std::size_t branches = 6 + 5;
    code.put({0xb9, rounds, 0, 0, 0});  // mov ecx, rounds
    const std::size_t start = code.size();
    code.put({0xff, 0xc9});                             // dec ecx
    code.branch({0x0f, 0x84}, code.size() + branches);  // jz
    code.branch({0xe9}, start);
}

void to_next_line(Code& code) {
    constexpr std::size_t jump = 5;
    const std::size_t next = (code.size() + jump + line_bytes - 1) / line_bytes * line_bytes;
    code.branch({0xe9}, next);
    code.fill_to(next);
}

/// So many lines from the beginning of one on, four long no-operations and a short one each: nothing in them takes
/// longer than to foretell the line.
void lines_of_code(Code& code, int lines) {
    for (int line = 0; line < lines; ++line) {
        for (int i = 0; i < 4; ++i)
            code.put({0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0});
        code.no_operations(1);
    }
}

void jumps_behind_lines(Code& code, int lines) {
    for (int i = 0; i < 8; ++i) {
        lines_of_code(code, lines);
        to_next_line(code);
    }
}

/// Of a function that has as many lines itself, and a jump behind each.
void calls_behind_lines(Code& code, int lines) {
    const std::size_t function = code.size() + line_bytes,
                      behind = function + static_cast<std::size_t>(lines + 1) * line_bytes;
    code.branch({0xe9}, behind);
    code.fill_to(function);
    lines_of_code(code, lines);
    code.put({0xc3});
    code.fill_to(behind);
    for (int i = 0; i < 4; ++i) {
        lines_of_code(code, lines);
        code.branch({0xe8}, function);
        to_next_line(code);
    }
}

void print_jumps(const CodeMemory& memory) {
    constexpr std::size_t times = 200'000;
    std::printf("16 jumps, cycles of one, by bytes from one to the next and bytes between a jump and its target\n");
    for (const std::size_t skipped : {0, 8, 24, 56}) {
        std::printf("  %2zu skipped", skipped);
        for (const std::size_t apart : {9, 13, 17, 21, 29, 33, 41, 61, 69, 101})
            if (apart >= skipped + 5)
                std::printf(
                    "  %zu: %.2f", apart,
                    cycles_a_round(memory, [&](Code& code) { jumps(code, 16, apart, skipped); }, times / 16) / 16);
        std::printf("\n");
    }
    std::printf("jumps to one another, cycles of one, by how many there are\n");
    for (const std::size_t apart : {32, 64, 128}) {
        std::printf("  %3zu bytes", apart);
        for (const std::size_t count : {16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096})
            std::printf("  %zu: %.2f", count,
                        cycles_a_round(
                            memory, [&](Code& code) { jumps(code, count, apart, apart - 5); }, times / count + 2) /
                            static_cast<double>(count));
        std::printf("\n");
    }
}

/// So many in each line of code, so many bytes from one to the next, and one from the last to the next line.
void print_jumps_by_lines(const CodeMemory& memory) {
    std::printf("jumps in lines of code, cycles of one, by how many lines\n");
    for (const std::size_t in_a_line : {1, 2, 3, 4, 5, 6, 7, 8}) {
        std::printf("  %zu in each", in_a_line);
        const std::size_t apart = line_bytes / in_a_line / 2 * 2;
        for (const std::size_t lines : {96, 128, 144, 160, 192, 256, 288, 320, 384}) {
            const auto write = [&](Code& code) {
                for (std::size_t line = 0; line < lines; ++line)
                    for (std::size_t i = 0; i < in_a_line; ++i) {
                        const std::size_t begin = code.size() / line_bytes * line_bytes;
                        const std::size_t next = i + 1 < in_a_line ? begin + (i + 1) * apart : begin + line_bytes;
                        code.branch({0xe9}, next);
                        code.fill_to(next);
                    }
            };
            const auto count = static_cast<double>(in_a_line * lines);
            constexpr std::size_t rounds = 16, most = 1300;
            if (in_a_line * lines <= most)
                std::printf("  %zu: %.2f", lines, cycles_a_round(memory, write, rounds) / count);
        }
        std::printf("\n");
    }
}

void print_loops(const CodeMemory& memory) {
    std::printf("a loop in a loop, cycles of all its rounds, in one line and over the end of one\n");
    for (const std::size_t no_operations : {1, 3, 5, 7, 9})
        for (const std::size_t behind : {std::size_t{0}, line_bytes - 4 - 2 * no_operations}) {
            std::printf("  %zu micro-ops, %2zu bytes behind", no_operations + 1, behind);
            for (const int rounds : {2, 4, 8, 12, 16, 32, 64})
                std::printf("  %d: %.1f", rounds,
                            cycles_a_round(
                                memory, [&](Code& code) { loop(code, no_operations, behind, rounds); },
                                static_cast<std::size_t>(100'000 / rounds)));
            std::printf("\n");
        }
}

void print_loop_ends(const CodeMemory& memory) {
    const auto print = [&](const char* what, const std::function<void(Code&, int)>& write) {
        std::printf("a loop that %s, cycles of all its rounds less one for each", what);
        for (const int rounds : {8, 16, 24, 25, 26, 27, 28, 29, 30, 40, 64, 80, 96, 112, 120, 126})
            std::printf(
                "  %d: %.1f", rounds,
                cycles_a_round(
                    memory, [&](Code& code) { write(code, rounds); }, static_cast<std::size_t>(100'000 / rounds)) -
                    rounds);
        std::printf("\n");
    };
    print("a condition continues", [](Code& code, int rounds) { loop(code, 1, 0, rounds); });
    print("a condition leaves and a jump continues", loop_by_jump);
}

void print_lines(const CodeMemory& memory) {
    const auto print = [&](const char* what, void (*write)(Code&, int)) {
        std::printf("%s, cycles of all", what);
        for (const int lines : {0, 1, 2, 3})
            std::printf("  %d: %.1f", lines, cycles_a_round(memory, [&](Code& code) { write(code, lines); }, 4000));
        std::printf("\n");
    };
    print("eight jumps, each behind so many lines of code", jumps_behind_lines);
    print("four calls behind so many lines, of a function of as many, a jump behind each and one more",
          calls_behind_lines);
}

void print_calls(const CodeMemory& memory) {
    std::printf(
        "calls of functions of two instructions, cycles of a call and its return, by bytes from one to the next\n");
    for (const std::size_t functions : {1, 8}) {
        std::printf("  %zu functions", functions);
        for (const std::size_t apart : {5, 13, 29, 61})
            std::printf("  %zu: %.2f", apart,
                        cycles_a_round(
                            memory,
                            [&](Code& code) {
                                const std::size_t to = code.size() + functions * line_bytes;
                                code.branch({0xe9}, to);
                                for (std::size_t i = 0; i < functions; ++i) {
                                    code.fill_to(to - (functions - i) * line_bytes + (i == 0 ? 8 : 0));
                                    code.put({0x8d, 0x48, 1, 0xc3});  // lea 1(rax), ecx; ret
                                }
                                code.fill_to(to);
                                for (std::size_t i = 0; i < 64; ++i) {
                                    code.no_operations((apart - 5) / 4);
                                    const std::size_t of = i % functions;
                                    code.branch({0xe8}, to - (functions - of) * line_bytes + (of == 0 ? 8 : 0));
                                }
                            },
                            4000) /
                            64);
        std::printf("\n");
    }
}

/// Of an indirect jump to one of six places, which it finds through two loads, in an order by chance that comes again.
void print_targets(const CodeMemory& memory) {
    std::printf("an indirect jump to six places by chance, cycles of a turn, by how many turns come again\n ");
    Code code;
    std::vector<std::uint64_t> places;
    code.put({0x41, 0x57, 0x49, 0x89, 0xff});        // push r15; mov r15, rdi
    code.put({0x49, 0x89, 0xf0, 0x49, 0x89, 0xd1});  // mov r8, rsi; mov r9, rdx
    while (code.size() % line_bytes) code.put({0x90});
    const std::size_t start = code.size();
    code.put(
        {0x41, 0x0f, 0xb6, 0x00, 0x49, 0xff, 0xc0, 0x41, 0xff, 0x24, 0xc1});  // movzbl (r8); inc r8; jmp *(r9, rax, 8)
    code.fill_to((code.size() / line_bytes + 1) * line_bytes);
    const std::size_t back = code.size();
    code.put({0x49, 0xff, 0xcf});      // dec r15
    code.branch({0x0f, 0x85}, start);  // jnz
    code.put({0x41, 0x5f, 0xc3});
    for (int i = 0; i < 6; ++i) {
        code.fill_to((code.size() / line_bytes + 1) * line_bytes);
        places.push_back(reinterpret_cast<std::uint64_t>(memory.begin()) + code.size());
        code.put({0x8d, 0x4c, 0x00, i});  // lea i(rax, rax), ecx
        code.branch({0xe9}, back);
    }
    const auto run = memory.hold<WrittenLoop>(code);
    std::mt19937 random(1);
    for (const std::size_t turns : {256, 512, 1024, 1400, 2048, 4096, 20000, 100000}) {
        std::vector<std::uint8_t> order(turns);
        for (std::uint8_t& place : order) place = static_cast<std::uint8_t>(random() % 6);
        const std::size_t times = 400'000 / turns + 1;
        const double cycle = cycle_ns();
        const double ns = least_ns(9, [&] {
            for (std::size_t i = 0; i < times; ++i) run(turns, order.data(), places.data());
        });
        std::printf("  %zu: %.1f", turns, ns / static_cast<double>(times * turns) / cycle);
    }
    std::printf("\n");
}

}  // namespace

int main() {
    const CodeMemory memory(1 << 20);
    if (!memory.is_there()) return 1;
    print_jumps(memory);
    print_jumps_by_lines(memory);
    print_loops(memory);
    print_loop_ends(memory);
    print_lines(memory);
    print_calls(memory);
    print_targets(memory);
    return 0;
}
