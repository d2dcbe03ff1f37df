// What an op cache holds, and how code comes that it does not hold, by the clock.
//   c++ -std=c++20 -O2 -o op_cache op_cache.cpp && ./op_cache        x86-64; a quiet machine
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "by_clock.h"
#include "written_code.h"

namespace {

constexpr std::size_t memory_bytes = std::size_t{1} << 20;
using Run = void (*)();

void no_operation(Code& code, std::size_t bytes) {
    static constexpr std::initializer_list<int> of[] = {{0x90},
                                                        {0x66, 0x90},
                                                        {0x0f, 0x1f, 0},
                                                        {0x0f, 0x1f, 0x40, 0},
                                                        {0x0f, 0x1f, 0x44, 0, 0},
                                                        {0x66, 0x0f, 0x1f, 0x44, 0, 0},
                                                        {0x0f, 0x1f, 0x80, 0, 0, 0, 0},
                                                        {0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}};
    code.put(of[bytes - 1]);
}

/// Cycles of a round of what `body` writes from the beginning of a line on.
double cycles_a_round(const CodeMemory& memory, const std::function<void(Code&)>& body) {
    constexpr int rounds = 16;
    Code code;
    code.put({0xb9, rounds, 0, 0, 0});  // mov ecx, rounds
    code.branch({0xe9}, line_bytes);
    code.fill_to(line_bytes);
    body(code);
    code.put({0xff, 0xc9});                 // dec ecx
    code.branch({0x0f, 0x85}, line_bytes);  // jnz
    code.put({0xc3});                       // ret
    const Run run = memory.hold<Run>(code);
    const double cycle = cycle_ns();
    return least_ns(4000, [&] { run(); }) / rounds / cycle;
}

/// So many no-operations of four bytes and a jump, again and again, so many bytes from one to the next.
void blocks_and_jumps(Code& code, std::size_t blocks, std::size_t apart, std::size_t no_operations) {
    for (std::size_t i = 0; i < blocks; ++i) {
        const std::size_t next = code.size() + apart;
        code.no_operations(no_operations);
        code.branch({0xe9}, next);
        code.fill_to(next);
    }
}

void straight(Code& code, std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i) no_operation(code, bytes);
}

}  // namespace

int main() {
    const CodeMemory memory(memory_bytes);
    if (!memory.is_there()) return 1;
    constexpr std::size_t code_bytes = 31000;  // what the first level of a cache of 32 KiB has room for

    std::puts("blocks of no-operations and a jump: cycles of one, by how many there are");
    for (const std::size_t apart : {16, 32, 40, 48, 56})
        for (const std::size_t no_operations : {2, 5, 7}) {
            if (no_operations * 4 + 5 > apart) continue;
            std::printf("  %zu bytes apart, of %zu operations:", apart, no_operations + 1);
            for (const std::size_t blocks : {128, 256, 384, 448, 512, 576, 640, 768, 896})
                if (blocks * apart <= code_bytes)
                    std::printf(" %zu %.2f", blocks, cycles_a_round(memory, [&](Code& code) {
                                                         blocks_and_jumps(code, blocks, apart, no_operations);
                                                     }) / static_cast<double>(blocks));
            std::puts("");
        }

    std::puts("straight no-operations by their bytes: cycles of one, by how many there are");
    for (std::size_t bytes = 1; bytes <= 8; ++bytes) {
        std::printf("  %zu bytes:", bytes);
        for (const std::size_t count : {2048, 3072, 3584, 4096, 4608, 6144, 8192})
            if (count * bytes <= code_bytes)
                std::printf(" %zu %.3f", count, cycles_a_round(memory, [&](Code& code) {
                                                    straight(code, count, bytes);
                                                }) / static_cast<double>(count));
        std::puts("");
    }

    std::puts("the same behind code that fills the op cache: bytes a cycle, of 4 KiB more beside 4 KiB");
    constexpr std::size_t filling = 9216, part = 4096;
    for (std::size_t bytes = 4; bytes <= 8; ++bytes) {
        const auto beside = [&](std::size_t straight_bytes) {
            return cycles_a_round(memory, [&](Code& code) {
                straight(code, filling, 1);
                straight(code, straight_bytes / bytes, bytes);
            });
        };
        std::printf("  %zu bytes: %.1f\n", bytes, part / (beside(2 * part) - beside(part)));
    }

    std::puts(
        "strtod of a number, with so many straight no-operations of three bytes behind it: cycles, and of these alone");
    const double cycle = cycle_ns();
    static double read = 0;
    for (const std::size_t count : {0, 96, 384, 768, 1536}) {
        Code code;
        straight(code, count, 3);
        code.put({0xc3});
        const Run run = memory.hold<Run>(code);
        constexpr int times = 200;
        const auto cycles = [&](bool reads) {
            return least_ns(400,
                            [&] {
                                for (int i = 0; i < times; ++i) {
                                    if (reads) read += std::strtod("1120.779338 12345", nullptr);
                                    run();
                                }
                            }) /
                   times / cycle;
        };
        std::printf("  %zu: %.0f %.0f\n", count, cycles(true), cycles(false));
    }
    return read < 0;
}
