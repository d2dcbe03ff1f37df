// What lines in order take that memory sends, beside others in order that the second level has, by the clock: of each
// 64 bytes of one or two large blocks a load, of some of them a load or a store in a block of 128 KiB, and 64 sums,
// which take longer than the lines do. Nothing waits for any load. Where prefetching does not go on into the next page,
// that shows as the time of a page beyond that of the first row.
//   c++ -std=c++20 -O2 -o streams_and_pages streams_and_pages.cpp
//   streams_and_pages        a table: x86-64; a quiet machine
//   streams_and_pages ROW    one of its rows for two seconds, to ask tmaprobe about
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "by_clock.h"

namespace {

constexpr std::size_t page = 4096, line = 64, large = std::size_t{64} << 20, held = std::size_t{128} << 10;

struct Memory {
    char* first = mapped(large);
    char* second = mapped(large + page) + 2112;  // no two of them are at the same place of their pages
    char* small = mapped(2 * held + page);
};

void load(const char* from) { asm volatile("mov (%0), %%r8d" : : "r"(from) : "r8"); }
void store(char* to) { asm volatile("movl $1, (%0)" : : "r"(to) : "memory"); }
void sums() {
    asm volatile(".rept 16\nadd $1, %%eax\nadd $1, %%ecx\nadd $1, %%edx\nadd $1, %%esi\n.endr"
                 :
                 :
                 : "eax", "ecx", "edx", "esi", "cc");
}

/// `large_blocks` are read; of each `every` lines one of each of `small_blocks` is, or is written to.
template <int large_blocks, int small_blocks, int every, bool stores>
void pass(const Memory& memory) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < large; i += line) {
        load(memory.first + i);
        if constexpr (large_blocks > 1) load(memory.second + i);
        if (small_blocks > 0 && i / line % every == 0) {
            if constexpr (small_blocks > 0) stores ? store(memory.small + at) : load(memory.small + at);
            if constexpr (small_blocks > 1) load(memory.small + held + line * 15 + at);
            at = (at + line) % held;
        }
        sums();
    }
}

struct Row {
    const char* name;
    void (*run)(const Memory&);
};
constexpr Row rows[] = {{"one large block", pass<1, 0, 1, false>},      {"and a small one", pass<1, 1, 1, false>},
                        {"which is written to", pass<1, 1, 1, true>},   {"of every second line", pass<1, 1, 2, false>},
                        {"of every fourth line", pass<1, 1, 4, false>}, {"two small ones", pass<1, 2, 1, false>},
                        {"two large blocks", pass<2, 0, 1, false>},     {"and a small one", pass<2, 1, 1, false>},
                        {"two small ones", pass<2, 2, 1, false>}};

}  // namespace

int main(int count, char** arguments) {
    const Memory memory;
    if (count == 2) {
        const std::size_t row = std::strtoul(arguments[1], nullptr, 10) - 1;
        if (row >= std::size(rows)) return 2;
        for (const double end = now_ns() + 2e9; now_ns() < end;) rows[row].run(memory);
        return 0;
    }
    for (const Row& row : rows) {
        constexpr double pages = large / page;
        const double cycle = cycle_ns(), ns = least_ns(40, [&] { row.run(memory); });
        std::printf("%zu  %-24s %6.2f cycles a line %7.1f ns a page\n", static_cast<std::size_t>(&row - rows) + 1,
                    row.name, ns / cycle / pages / (page / line), ns / pages);
    }
    return 0;
}
