// What operations behind loads that miss the first level take, by the clock: of loads one after another, each with so
// many operations that wait for it; and of loads of any line of a block, with operations that wait for the load, and
// with ones that only wait for its index.
//   c++ -std=c++20 -O2 -o waiting_behind_loads waiting_behind_loads.cpp && ./waiting_behind_loads    x86-64; a quiet
//   machine
#include <cstdint>
#include <cstdio>
#include <vector>

#include "by_clock.h"

namespace {

template <int operations>
[[gnu::noinline]] void one_after_another(void* place, std::size_t loads) {
    for (std::size_t i = 0; i < loads; ++i)
        asm volatile("mov (%0), %0\n\t.rept %c1\n\tlea 1(%0), %%ecx\n\t.endr" : "+r"(place) : "i"(operations) : "rcx");
}

enum class Wait { for_load, for_index };

template <int operations, Wait wait>
[[gnu::noinline]] void of_any_line(const char* block, const std::vector<std::uint32_t>& offsets) {
    for (const std::uint32_t& offset : offsets)
        if constexpr (wait == Wait::for_load)
            asm volatile("mov (%1), %%ecx\n\tmov (%0, %%rcx), %%eax\n\t.rept %c2\n\tlea 1(%%rax), %%edx\n\t.endr"
                         :
                         : "r"(block), "r"(&offset), "i"(operations)
                         : "rax", "rcx", "rdx");
        else
            asm volatile("mov (%1), %%ecx\n\tmov (%0, %%rcx), %%eax\n\t.rept %c2\n\tlea 1(%%rcx), %%edx\n\t.endr"
                         :
                         : "r"(block), "r"(&offset), "i"(operations)
                         : "rax", "rcx", "rdx");
}

template <int operations>
void print(char* block, std::size_t lines, double cycle) {
    const std::vector<void*> places = chain_through(block, lines);
    std::vector<std::uint32_t> offsets;
    for (const std::size_t line : in_any_order(lines)) offsets.push_back(static_cast<std::uint32_t>(line * line_bytes));
    const auto cycles = [&](auto run) { return least_ns(40, run) / static_cast<double>(lines) / cycle; };
    std::printf("%10d %18.2f %14.2f %14.2f\n", operations,
                cycles([&] { one_after_another<operations>(places[0], lines); }),
                cycles([&] { of_any_line<operations, Wait::for_load>(block, offsets); }),
                cycles([&] { of_any_line<operations, Wait::for_index>(block, offsets); }));
}

}  // namespace

int main() {
    char* const block = in_large_pages(std::size_t{8} << 20);
    const double cycle = cycle_ns();
    for (const std::size_t kib : {24, 512, 8192}) {
        std::printf("%zu KiB, cycles of a load\noperations  one after another  wait for load  for its index\n", kib);
        const std::size_t lines = kib * 1024 / line_bytes;
        print<0>(block, lines, cycle);
        print<8>(block, lines, cycle);
        print<16>(block, lines, cycle);
        print<24>(block, lines, cycle);
        print<64>(block, lines, cycle);
        print<96>(block, lines, cycle);
    }
}
