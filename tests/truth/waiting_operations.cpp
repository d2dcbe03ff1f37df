// How many operations wait for loads at a time, by the clock: of loads from lines in any order, each with so many
// operations that wait for it, a round takes the longer the fewer of them the core's schedulers hold.
//   c++ -std=c++20 -O2 -o waiting_operations waiting_operations.cpp && ./waiting_operations    x86-64; a quiet machine
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "by_clock.h"

namespace {

using Code = std::vector<unsigned char>;

struct Kind {
    const char* name;
    std::vector<Code> operations;  ///< in turns; what was loaded is in rax
};

const std::vector<Kind> kinds{
    {"additions, a chain", {{0x48, 0x83, 0xc0, 0x01}}},
    {"additions, apart", {{0x48, 0x8d, 0x50, 1}, {0x4c, 0x8d, 0x40, 1}, {0x4c, 0x8d, 0x48, 1}, {0x4c, 0x8d, 0x50, 1}}},
    {"multiplications", {{0x48, 0x0f, 0xaf, 0xc0}}},
    {"comparisons, branches", {{0x48, 0x85, 0xc0, 0x0f, 0x85, 0, 0, 0, 0}}},
    {"loads", {{0x48, 0x8b, 0x14, 0x06}}},
    {"no operations", {{0x90}}},
};

/// rdi: where the loads' places are, 4 bytes each; rsi: from where they count; rcx: rounds.
Code loop(const Kind& kind, std::size_t operations) {
    Code code{0x8b, 0x07, 0x48, 0x8b, 0x04, 0x06, 0x48, 0x83, 0xc7, 0x04};  // mov (rdi); mov (rsi,rax); add 4, rdi
    for (std::size_t i = 0; i < operations; ++i) {
        const Code& operation = kind.operations[i % kind.operations.size()];
        code.insert(code.end(), operation.begin(), operation.end());
    }
    for (const int byte : {0x48, 0xff, 0xc9, 0x0f, 0x85}) code.push_back(static_cast<unsigned char>(byte));  // dec; jnz
    const auto back = -static_cast<std::int32_t>(code.size() + sizeof(std::int32_t));
    unsigned char bytes[sizeof back];
    std::memcpy(bytes, &back, sizeof back);
    code.insert(code.end(), bytes, bytes + sizeof back);
    code.push_back(0xc3);
    return code;
}

unsigned char* mapped(std::size_t bytes, int protection) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
}

}  // namespace

int main() {
    constexpr std::size_t huge = 2 << 20, bytes = 8 << 20, line = 64, lines = bytes / line;
    unsigned char* memory = mapped(bytes + huge, PROT_READ | PROT_WRITE);
    unsigned char* code = mapped(4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (!memory || !code) return 1;
    memory += (huge - reinterpret_cast<std::uintptr_t>(memory) % huge) % huge;
    madvise(memory, bytes, MADV_HUGEPAGE);
    std::vector<std::uint32_t> places(lines);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), std::mt19937(1));
    for (std::uint32_t& place : places) place *= line;
    for (std::size_t i = 0; i < lines; ++i) std::memcpy(memory + places[i], &places[(i + 1) % lines], sizeof places[i]);
    const double cycle = cycle_ns();
    const double latency = least_ns(8,
                                    [&] {
                                        std::uint64_t at = 0;
                                        for (std::size_t i = 0; i < lines; ++i)
                                            at = *reinterpret_cast<volatile std::uint32_t*>(memory + at);
                                    }) /
                           static_cast<double>(lines) / cycle;
    std::memset(memory, 0, bytes);
    std::printf("a load takes %.1f cycles; cycles of a round, and how many operations wait at a time\n", latency);
    for (const Kind& kind : kinds) {
        std::printf("  %-22s", kind.name);
        for (const std::size_t operations : {4, 8, 16, 24, 32, 48}) {
            const Code body = loop(kind, operations);
            std::memcpy(code, body.data(), body.size());
            const double round = least_ns(10,
                                          [&] {
                                              const void *from = places.data(), *base = memory;
                                              std::size_t rounds = lines;
                                              asm volatile("call *%3"
                                                           : "+D"(from), "+S"(base), "+c"(rounds)
                                                           : "r"(code)
                                                           : "rax", "rdx", "r8", "r9", "r10", "memory", "cc");
                                          }) /
                                 static_cast<double>(lines) / cycle;
            std::printf("  %zu: %.1f (%.0f)", operations, round, static_cast<double>(operations) * latency / round);
        }
        std::printf("\n");
    }
    return 0;
}
