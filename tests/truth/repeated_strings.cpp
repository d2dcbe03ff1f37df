// What repeated string instructions take, by the clock: a loop that fills or copies so many bytes again and again, in
// the first-level cache.
//   c++ -std=c++20 -O2 -o repeated_strings repeated_strings.cpp && ./repeated_strings    x86-64; a quiet machine
#include <array>
#include <cstdint>
#include <cstdio>

#include "by_clock.h"

namespace {

alignas(4096) std::array<unsigned char, 16384> from, to;

template <class Once>
double cycles_of(const Once& once, double cycle) {
    constexpr int times = 500, rounds = 200;
    return least_ns(rounds,
                    [&] {
                        for (int i = 0; i < times; ++i) once();
                    }) /
           times / cycle;
}

}  // namespace

int main() {
    const double cycle = cycle_ns();
    std::printf("%8s %10s %10s %10s %10s   cycles\n", "bytes", "rep stosb", "rep stosq", "rep movsb", "rep movsq");
    for (const std::uint64_t bytes : {8, 32, 64, 128, 256, 416, 1024, 4096, 8192, 16384}) {
        const auto fill_bytes = [&] {
            void* at = to.data();
            std::uint64_t count = bytes;
            asm volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(0) : "memory");
        };
        const auto fill_words = [&] {
            void* at = to.data();
            std::uint64_t count = bytes / 8;
            asm volatile("rep stosq" : "+D"(at), "+c"(count) : "a"(0ull) : "memory");
        };
        const auto copy_bytes = [&] {
            void* at = to.data();
            const void* of = from.data();
            std::uint64_t count = bytes;
            asm volatile("rep movsb" : "+D"(at), "+S"(of), "+c"(count) : : "memory");
        };
        const auto copy_words = [&] {
            void* at = to.data();
            const void* of = from.data();
            std::uint64_t count = bytes / 8;
            asm volatile("rep movsq" : "+D"(at), "+S"(of), "+c"(count) : : "memory");
        };
        std::printf("%8llu %10.1f %10.1f %10.1f %10.1f\n", static_cast<unsigned long long>(bytes),
                    cycles_of(fill_bytes, cycle), cycles_of(fill_words, cycle), cycles_of(copy_bytes, cycle),
                    cycles_of(copy_words, cycle));
    }
    return 0;
}
