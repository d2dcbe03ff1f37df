// Loads of any line of a block, none of which waits for another, by the clock: how many lines come at a time, and how
// long each takes beside the others.
//   c++ -std=c++20 -O2 -o loads_of_any_line loads_of_any_line.cpp
//   loads_of_any_line    cycles of a load by the size of the block, in small and in large pages, for so many
//                        no-operations between; some ten seconds on x86-64, best on a quiet machine
#include <cstdint>
#include <cstdio>

#include "by_clock.h"

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// So many loads; the places by chance take six cycles each at least.
template <int no_operations>
std::uint64_t load(const char* block, std::uint64_t lines, std::uint64_t& state, int loads) {
    std::uint64_t sum = 0;
    for (int i = 0; i < loads; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const std::uint64_t line = ((state & 0xffffffff) * lines) >> 32;
        sum += *reinterpret_cast<const volatile unsigned char*>(block + line * line_bytes);
        asm volatile(".rept %c0\nnop\n.endr" : : "i"(no_operations));
    }
    return sum;
}

template <int no_operations>
double cycles_of(const char* block, std::size_t bytes) {
    constexpr int loads = 400'000, rounds = 9;
    std::uint64_t state = 88172645463325252;  // goes on from round to round, so that none has the last one's lines
    volatile std::uint64_t kept = 0;
    const double ns = least_ns(rounds, [&] { kept = load<no_operations>(block, bytes / line_bytes, state, loads); });
    return ns / loads / cycle_ns();
}

}  // namespace

int main() {
    std::printf("pages    MiB  no-operations  0    20    60\n");
    for (const bool large : {false, true})
        for (const double size : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 64.0}) {
            const auto bytes = static_cast<std::size_t>(size * mib);
            const char* const block = large ? in_large_pages(bytes) : mapped(bytes);
            std::printf("%s %5.1f  %15.1f %5.1f %5.1f\n", large ? "large" : "small", size, cycles_of<0>(block, bytes),
                        cycles_of<20>(block, bytes), cycles_of<60>(block, bytes));
        }
}
