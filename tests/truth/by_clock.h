#pragma once

// What the tools beside this share that time code by the clock: x86-64, and best on a quiet machine.

#include <algorithm>
#include <chrono>

inline double now_ns() {
    const std::chrono::duration<double, std::nano> now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

/// Of the fastest of so many rounds: what else the machine does only adds to one.
template <class Run>
double least_ns(int rounds, const Run& run) {
    double least = 1e18;
    for (int round = 0; round < rounds; ++round) {
        const double start = now_ns();
        run();
        least = std::min(least, now_ns() - start);
    }
    return least;
}

/// A chain of sums, each of which takes a cycle: of two registers, since some cores add constants at renaming.
inline void chain() {
    asm volatile("mov $2000, %%ecx\n1:\n.rept 50\nadd %%rcx, %%rax\n.endr\ndec %%ecx\njnz 1b" : : : "rax", "rcx", "cc");
}
constexpr double chain_cycles = 100'000;

/// A cycle of the core, at the clock that it runs at while it works.
inline double cycle_ns() {
    constexpr int rounds = 200;
    return least_ns(rounds, chain) / chain_cycles;
}
