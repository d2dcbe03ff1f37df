// How much a core has renamed at a time, by the clock: two chains of loads from the third level go on side by side only
// while what lies between two loads fits: in the reorder buffer, and what it writes in the registers to rename into.
// And how soon what an instruction had is another's: chains of operations, each of which begins anew, with more
// no-operations in between than the reorder buffer holds, come one after the other.
//   c++ -std=c++20 -O2 -o renamed_registers renamed_registers.cpp && ./renamed_registers    x86-64; a quiet machine
//   ./renamed_registers 8        loads from a block of 8 MiB: where the second level holds the 2 MiB of usual
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "by_clock.h"
#include "written_code.h"

namespace {

using Run = void (*)(void* first, void* second, long rounds);

enum class Operation { nothing, constant, vector_sum };

void put(Code& code, Operation operation, int times) {
    for (int i = 0; i < times; ++i) switch (operation) {
            case Operation::nothing:
                code.put({0x90});
                break;
            case Operation::constant:
                code.put({0xb8, 1, 0, 0, 0});  // mov eax, 1
                break;
            case Operation::vector_sum:
                code.put({0xc5, 0xf1, 0xfe, 0xc1});  // vpaddd xmm0, xmm1, xmm1
                break;
        }
}

Code loop(Operation operation, int times) {
    Code code;
    code.put({0x48, 0x8b, 0x3f});  // mov rdi, (rdi)
    put(code, operation, times);
    code.put({0x48, 0x8b, 0x36});  // mov rsi, (rsi)
    put(code, operation, times);
    code.put({0x48, 0xff, 0xca});  // dec rdx
    code.branch({0x0f, 0x85}, 0);  // jnz
    code.put({0xc3});
    return code;
}

constexpr int products = 20, ways_and_back = 8;

Code chains(bool through_vectors, int no_operations) {
    Code code;
    code.put({0xb8, 1, 0, 0, 0});                                                               // mov eax, 1
    for (int i = 0; !through_vectors && i < products; ++i) code.put({0x48, 0x0f, 0xaf, 0xc0});  // imul rax, rax
    for (int i = 0; through_vectors && i < ways_and_back; ++i) {
        code.put({0xc4, 0xe1, 0xf9, 0x6e, 0xc0});  // vmovq xmm0, rax
        code.put({0xc4, 0xe1, 0xf9, 0x7e, 0xc0});  // vmovq rax, xmm0
    }
    code.no_operations(static_cast<std::size_t>(no_operations));
    code.put({0x48, 0xff, 0xcf});  // dec rdi
    code.branch({0x0f, 0x85}, 0);  // jnz
    code.put({0xc3});
    return code;
}

void print_chains(const CodeMemory& code) {
    constexpr long rounds = 2000;
    std::printf("cycles of a chain and so many no-operations\n");
    for (const bool through_vectors : {false, true}) {
        std::printf("  %-14s", through_vectors ? "vectors, back" : "products");
        for (int count = 212; count <= 296; count += 12) {
            const auto run = code.hold<void (*)(long)>(chains(through_vectors, count));
            const double cycle = cycle_ns();
            std::printf("  %d: %.1f", count, least_ns(400, [&] { run(rounds); }) / rounds / cycle);
        }
        std::printf("\n");
    }
}

}  // namespace

int main(int arguments, char** argument) {
    const std::size_t mib = arguments > 1 ? static_cast<std::size_t>(std::atoi(argument[1])) : 2;
    const std::size_t lines = mib * 1024 * 1024 / line_bytes;
    const CodeMemory code(1 << 14);
    if (!code.is_there()) return 1;
    const std::vector<void*> places = chain_through(mapped(lines * line_bytes), lines);
    const struct {
        const char* name;
        Operation operation;
        int from, to, step;
    } kinds[] = {{"no operations", Operation::nothing, 200, 560, 12},
                 {"constants", Operation::constant, 130, 290, 5},
                 {"vector sums", Operation::vector_sum, 100, 340, 8}};
    std::printf("cycles of a load with so many operations behind it\n");
    for (const auto& [name, operation, from, to, step] : kinds) {
        std::printf("  %-14s", name);
        for (int times = from; times <= to; times += step) {
            const Run run = code.hold<Run>(loop(operation, times));
            const double cycle = cycle_ns();
            const double all = least_ns(15, [&] { run(places[0], places[lines / 2], lines / 2); });
            std::printf("  %d: %.1f", times, all / static_cast<double>(lines) / cycle);
        }
        std::printf("\n");
    }
    print_chains(code);
    return 0;
}
