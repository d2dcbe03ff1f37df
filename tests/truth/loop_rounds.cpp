// Up to how many rounds the end of a loop is foretold, by the clock: loops of always as many rounds, one after another,
// without and with a further taken branch in each. And divisions, whose results the next one waits for.
//   c++ -std=c++20 -O2 -o loop_rounds loop_rounds.cpp && ./loop_rounds        x86-64; a quiet machine
#include <cstdint>
#include <cstdio>

#include "by_clock.h"

namespace {

enum class Within { nothing, jump };

template <Within within>
[[gnu::noinline]] void loop(int rounds) {
    for (int left = rounds; left > 0; --left) {
        if constexpr (within == Within::jump)
            asm volatile("jmp 1f\nnop\n1:" : "+r"(left));
        else
            asm volatile("nop" : "+r"(left));
    }
}

template <Within within>
double cycles_of(int rounds, double cycle) {
    constexpr int loops = 50, repetitions = 400;
    return least_ns(repetitions,
                    [&] {
                        for (int i = 0; i < loops; ++i) loop<within>(rounds);
                    }) /
           loops / cycle;
}

/// Of a division of `bits`, from one to the next through its quotient or its remainder.
template <int bits, bool remainder>
double cycles_of_division(double cycle) {
    constexpr int divisions = 200, repetitions = 400;
    const std::uint64_t divisor = 1234567;
    std::uint64_t value = 123456789;
    const double cycles = least_ns(repetitions, [&] {
        for (int i = 0; i < divisions; ++i) {
            std::uint64_t low = value, high = 0;
            if constexpr (bits == 64)
                asm volatile("div %2" : "+a"(low), "+d"(high) : "r"(divisor));
            else
                asm volatile("div %k2" : "+a"(low), "+d"(high) : "r"(divisor));
            value = remainder ? high : low;
            asm volatile("or $0x7654321, %0" : "+r"(value));
        }
    });
    return cycles / divisions / cycle - 1;
}

}  // namespace

int main() {
    const double cycle = cycle_ns();
    std::printf("rounds  cycles of the loop, with a jump in each\n");
    for (const int rounds : {8, 12, 16, 17, 18, 20, 24, 28, 32, 34, 36, 40, 48, 64, 100, 150, 190, 200, 250})
        std::printf("%6d %19.1f %20.1f\n", rounds, cycles_of<Within::nothing>(rounds, cycle),
                    cycles_of<Within::jump>(rounds, cycle));
    std::printf("division, cycles until its quotient, its remainder\n");
    std::printf("64 bits %19.1f %14.1f\n", cycles_of_division<64, false>(cycle), cycles_of_division<64, true>(cycle));
    std::printf("32 bits %19.1f %14.1f\n", cycles_of_division<32, false>(cycle), cycles_of_division<32, true>(cycle));
}
