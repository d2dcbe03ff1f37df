#pragma once

// What the tools beside this share that time code and memory by the clock: x86-64, and best on a quiet machine.

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

constexpr std::size_t line_bytes = 64;

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

/// Pages of 4 KiB, each of which was written to.
inline char* mapped(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::exit(1);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    std::fill_n(static_cast<char*>(memory), bytes, 1);
    return static_cast<char*>(memory);
}

/// Large pages, where the kernel gives any, from the first one on; each was written to.
inline char* in_large_pages(std::size_t bytes) {
    constexpr std::size_t large = std::size_t{2} << 20;
    char* const memory = mapped(bytes + large);
    char* const first = memory + (large - reinterpret_cast<std::uintptr_t>(memory) % large) % large;
    madvise(memory, bytes + large, MADV_DONTNEED);
    madvise(memory, bytes + large, MADV_HUGEPAGE);
    std::fill_n(first, bytes, 1);
    return first;
}

/// So many numbers from 0 on, in an order by chance, the same each time.
inline std::vector<std::size_t> in_any_order(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
    return order;
}

/// Each line of a block holds the address of the next in any order, and the last that of the first: where they are, in
/// that order.
inline std::vector<void*> chain_through(char* block, std::size_t lines) {
    std::vector<void*> places;
    for (const std::size_t line : in_any_order(lines)) places.push_back(block + line * line_bytes);
    for (std::size_t i = 0; i < lines; ++i) *static_cast<void**>(places[i]) = places[(i + 1) % lines];
    return places;
}
