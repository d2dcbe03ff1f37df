// What repeated string instructions take, by the clock: a loop that fills or copies so many bytes again and again, in
// the first-level cache.
//   c++ -std=c++20 -O2 -o repeated_strings repeated_strings.cpp && ./repeated_strings    x86-64; a quiet machine
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace {

double now_ns() {
    const std::chrono::duration<double, std::nano> now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

template <class Run>
double least_ns(const Run& run) {
    constexpr int runs = 200;
    double least = 1e18;
    for (int each = 0; each < runs; ++each) {
        const double start = now_ns();
        run();
        least = std::min(least, now_ns() - start);
    }
    return least;
}

/// A chain of sums, each of which takes a cycle.
void chain() {
    asm volatile("mov $2000, %%ecx\n1:\n.rept 50\nadd $1, %%rax\n.endr\ndec %%ecx\njnz 1b" : : : "rax", "rcx", "cc");
}
constexpr double chain_cycles = 100'000;

alignas(4096) std::array<unsigned char, 16384> from, to;

template <class Once>
double cycles_of(const Once& once, double cycle_ns) {
    constexpr int times = 500;
    return least_ns([&] {
               for (int i = 0; i < times; ++i) once();
           }) /
           times / cycle_ns;
}

}  // namespace

int main() {
    const double cycle_ns = least_ns(chain) / chain_cycles;
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
                    cycles_of(fill_bytes, cycle_ns), cycles_of(fill_words, cycle_ns), cycles_of(copy_bytes, cycle_ns),
                    cycles_of(copy_words, cycle_ns));
    }
    return 0;
}
