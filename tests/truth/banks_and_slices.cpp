// What lines of the second and of the third level cost, and page walks, by the clock.
//   c++ -std=c++20 -O2 -o banks_and_slices banks_and_slices.cpp && ./banks_and_slices      x86-64; a quiet machine
//
// Lines so many apart show the banks of the second level; single lines of the third, how far away their slices are;
// and chains of loads, one of each page, what a walk takes that is alone, and how many there are at a time.
#include <x86intrin.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "by_clock.h"

namespace {

constexpr std::size_t line = 64, page = 4096, mib = std::size_t{1} << 20;
using Offsets = std::vector<std::uint32_t>;

/// Two loads a turn, at an even number of offsets; nothing waits for them.
void load_all(const char* memory, const Offsets& offsets) {
    const std::uint32_t *at = offsets.data(), *const end = at + offsets.size();
    asm volatile(
        ".p2align 6\n1: mov (%[at]), %%r8d\n mov 4(%[at]), %%r9d\n mov (%[memory], %%r8), %%r8\n"
        "mov (%[memory], %%r9), %%r9\n add $8, %[at]\n cmp %[end], %[at]\n jne 1b"
        : [at] "+r"(at)
        : [memory] "r"(memory), [end] "r"(end)
        : "r8", "r9", "memory", "cc");
}

double cycles_a_line(const char* memory, const Offsets& offsets) {
    constexpr std::size_t loads = 20'000;
    const std::size_t times = loads / offsets.size() + 1;
    const double cycle = cycle_ns();
    const double all = least_ns(200, [&] {
        for (std::size_t i = 0; i < times; ++i) load_all(memory, offsets);
    });
    return all / static_cast<double>(times * offsets.size()) / cycle;
}

void print_banks(const char* memory) {
    std::printf("cycles of a line that nothing waits for, so many lines apart, in any order\n");
    std::printf("  apart  700 lines  2,800 lines  5,600 lines\n");
    for (const std::uint32_t apart : {1, 2, 3, 4, 6, 8, 12, 16, 24, 40}) {
        std::printf("  %5u", apart);
        for (const std::uint32_t lines : {700, 2800, 5600}) {
            Offsets offsets;
            for (std::uint32_t i = 0; i < lines; ++i) offsets.push_back(i * apart * line);
            std::shuffle(offsets.begin(), offsets.end(), std::minstd_rand(1));
            std::printf("  %9.2f", cycles_a_line(memory, offsets));
        }
        std::printf("\n");
    }
}

/// Of so many lines, each of another page, from the third level, one at a time; ticks of the time-stamp counter, which
/// some machines count in steps of 10 ns: so the mean of the lower four fifths of many.
std::vector<double> ticks_of_lines(const char* memory) {
    constexpr std::size_t lines = 256, rounds = 400;
    std::minstd_rand random(1);
    Offsets wanted, others;
    for (std::uint32_t i = 0; i < lines; ++i)
        wanted.push_back(static_cast<std::uint32_t>(i * page + random() % (page / line) * line));
    std::shuffle(wanted.begin(), wanted.end(), random);
    for (std::uint32_t at = lines * page; at < 3 * mib; at += line) others.push_back(at);
    std::shuffle(others.begin(), others.end(), random);
    std::array<std::vector<double>, lines> times;
    const auto read = [&](std::size_t at) { (void)*static_cast<const volatile char*>(memory + at); };
    unsigned cpu = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        load_all(memory, others);
        for (std::size_t i = 0; i < lines; ++i) {
            read((wanted[i] + page / 2) % page + wanted[i] / page * page);  // the translation
            _mm_lfence();
            const std::uint64_t start = __rdtscp(&cpu);
            _mm_lfence();
            read(wanted[i]);
            _mm_lfence();
            times[i].push_back(static_cast<double>(__rdtscp(&cpu) - start));
        }
    }
    std::vector<double> of_lines;
    for (std::vector<double>& each : times) {
        std::sort(each.begin(), each.end());
        each.resize(rounds * 4 / 5);
        double sum = 0;
        for (const double time : each) sum += time;
        of_lines.push_back(sum / static_cast<double>(each.size()));
    }
    std::sort(of_lines.begin(), of_lines.end());
    return of_lines;
}

void print_slices(const char* memory) {
    const double start_ns = now_ns();
    const std::uint64_t start = __rdtsc();
    const double cycle = cycle_ns();
    const double cycles_a_tick = (now_ns() - start_ns) / static_cast<double>(__rdtsc() - start) / cycle;
    const std::vector<double> of_lines = ticks_of_lines(memory);
    double mean = 0;
    for (const double each : of_lines) mean += each / static_cast<double>(of_lines.size());
    std::printf("single lines of the third level, cycles beyond their mean, from the nearest to the furthest:");
    constexpr std::size_t steps = 16;
    for (std::size_t step = 0; step <= steps; ++step)
        std::printf(" %+.1f", (of_lines[step * (of_lines.size() - 1) / steps] - mean) * cycles_a_tick);
    std::printf("\n");
}

template <std::size_t chains>
double cycles_a_step(char* memory, std::size_t pages, std::size_t apart) {
    Offsets order;
    for (std::size_t i = 0; i < pages; ++i) order.push_back(static_cast<std::uint32_t>(i * apart));
    std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
    for (std::size_t i = 0; i < pages; ++i)
        *reinterpret_cast<char**>(memory + order[i]) = memory + order[(i + 1) % pages];
    std::array<char*, chains> at;
    for (std::size_t i = 0; i < chains; ++i) at[i] = memory + order[i * pages / chains];
    const std::size_t steps = 4 * pages / chains;
    const double cycle = cycle_ns();
    return least_ns(60,
                    [&] {
                        for (std::size_t step = 0; step < steps; ++step) {
#pragma GCC unroll 16
                            for (std::size_t i = 0; i < chains; ++i) at[i] = *reinterpret_cast<char**>(at[i]);
                        }
                        for (char*& each : at) asm volatile("" : "+r"(each));
                    }) /
           static_cast<double>(steps) / cycle;
}

void print_walks(char* small, char* large) {
    std::printf("a load of each of so many pages of 4 KiB, in chains side by side: cycles of a step\n");
    std::printf("  pages              1 chain       2       4       8\n");
    const auto row = [](const char* name, char* memory, std::size_t pages, std::size_t apart) {
        std::printf("  %6zu %-10s", pages, name);
        std::printf("  %6.1f  %6.1f  %6.1f  %6.1f\n", cycles_a_step<1>(memory, pages, apart),
                    cycles_a_step<2>(memory, pages, apart), cycles_a_step<4>(memory, pages, apart),
                    cycles_a_step<8>(memory, pages, apart));
    };
    row("(lines)", small, 3000, line);
    for (const std::size_t pages : {1000, 3000, 6000, 12000}) {
        row("small", small, pages, page + line);
        row("large", large, pages, page + line);
    }
}

}  // namespace

int main() {
    constexpr std::size_t bytes = 12000 * (page + line);
    char* const large = in_large_pages(bytes);
    print_banks(large);
    print_slices(large);
    print_walks(mapped(bytes), large);
    return 0;
}
