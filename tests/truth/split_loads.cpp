// What loads take that lie in two lines of which the first level lacks one, by the clock: of a block that the second
// level holds, so many bytes from one load to the next; and what the same lines take by loads of their own.
//   c++ -std=c++20 -O2 -o split_loads split_loads.cpp && ./split_loads        x86-64; a quiet machine
//   tmaprobe --repeatable -- ./split_loads 64 61 2000        one of them, so many times, to be modelled
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "by_clock.h"

namespace {

constexpr std::size_t block_bytes = std::size_t{512} << 10;

/// Four in a round, each added up by itself: nothing waits for a load.
[[gnu::noinline]] void loads(const char* from, std::size_t count, std::size_t stride) {
    for (std::size_t i = 0; i < count; i += 4)
        for (std::size_t k = 0; k < 4; ++k)
            asm volatile("mov (%0), %%ecx\n\tadd %%rcx, %%rax" : : "r"(from + (i + k) * stride) : "rax", "rcx", "cc");
}

[[gnu::noinline]] void loads_of_both_lines(const char* from, std::size_t count, std::size_t stride) {
    for (std::size_t i = 0; i < count; i += 4)
        for (std::size_t k = 0; k < 4; ++k)
            asm volatile("movb (%0), %%cl\n\tmovb 64(%0), %%dl\n\tadd %%rcx, %%rax\n\tadd %%rdx, %%rax"
                         :
                         : "r"(from + (i + k) * stride)
                         : "rax", "rcx", "rdx", "cc");
}

std::size_t loads_of(std::size_t stride) { return block_bytes / stride / 4 * 4; }

}  // namespace

int main(int arguments, char** argument) {
    const char* const block = in_large_pages(std::size_t{8} << 20);
    if (arguments > 3) {
        const auto stride = static_cast<std::size_t>(std::atoi(argument[1]));
        for (int i = 0; i < std::atoi(argument[3]); ++i)
            loads(block + std::atoi(argument[2]), loads_of(stride), stride);
        return 0;
    }
    const double cycle = cycle_ns();
    std::printf("bytes apart  cycles of a load of one line, of two, of both lines by themselves\n");
    for (const std::size_t stride : {64, 128, 192, 256, 320, 1088}) {
        const auto cycles = [&](auto run, std::size_t offset) {
            const auto count = loads_of(stride);
            return least_ns(300, [&] { run(block + offset, count, stride); }) / static_cast<double>(count) / cycle;
        };
        std::printf("%11zu %35.2f %7.2f %25.2f\n", stride, cycles(loads, 0), cycles(loads, 61),
                    cycles(loads_of_both_lines, 0));
    }
}
