// What a cache gives up for a new line, by the clock: a chain of loads through all lines of a block in one order, again
// and again, finds none of a set that has one line too many where the one makes room that was used longest ago, and
// some where chance decides. Beside it, loads of lines that are seldom used again take the places of lines in use.
//   c++ -std=c++20 -O2 -o what_makes_room what_makes_room.cpp && ./what_makes_room    x86-64; a quiet machine
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>

#include "by_clock.h"

namespace {

constexpr std::size_t lines_of_kib = 1024 / line_bytes;
constexpr std::size_t others_bytes = std::size_t{4} << 20;

void* volatile sink;

/// `others` loads of lines by chance after each load of the chain; they go on where those before ended.
template <int others>
void follow(void* place, std::size_t loads, const char* other_lines) {
    static std::uint64_t by_chance = 1;
    for (; loads > 0; --loads) {
        place = *static_cast<void**>(place);
        for (int i = 0; i < others; ++i) {
            by_chance = by_chance * 6364136223846793005u + 1442695040888963407u;
            const std::size_t line = (by_chance >> 33) % (others_bytes / line_bytes);
            asm volatile("mov (%0), %%rax" : : "r"(other_lines + line * line_bytes) : "rax");
        }
    }
    sink = place;
}

/// Cycles of a load, by a chain through memory that is mapped for it.
double cycles(std::size_t kib, int others, const char* other_lines) {
    char* const block = mapped(kib * 1024);
    const std::size_t lines = kib * lines_of_kib;
    void* const first = chain_through(block, lines)[0];
    const double cycle = cycle_ns();
    const double all = least_ns(std::max<int>(60, static_cast<int>(60'000 / kib)), [&] {
        others == 0   ? follow<0>(first, lines, other_lines)
        : others == 1 ? follow<1>(first, lines, other_lines)
        : others == 2 ? follow<2>(first, lines, other_lines)
                      : follow<4>(first, lines, other_lines);
    });
    munmap(block, kib * 1024);
    return all / static_cast<double>(lines) / cycle;
}

}  // namespace

int main() {
    const char* const other_lines = mapped(others_bytes);
    std::printf("cycles of a load in a chain through so many KiB\n");
    for (const std::size_t kib :
         {24, 32, 36, 40, 48, 64, 256, 320, 384, 448, 512, 576, 640, 768, 1024, 1280, 1536, 2048})
        std::printf("  %4zu %6.1f\n", kib, cycles(kib, 0, other_lines));
    std::printf("beside 1, 2 and 4 loads of other lines\n");
    for (const std::size_t kib : {8, 12, 16, 20, 24, 64, 128, 192, 256, 320}) {
        std::printf("  %4zu", kib);
        for (const int others : {1, 2, 4}) std::printf(" %6.1f", cycles(kib, others, other_lines));
        std::printf("\n");
    }
    return 0;
}
