// What others leave of a third level, by the clock: blocks that are read in any order, line by line, again and again.
//   c++ -std=c++20 -O2 -o third_level third_level.cpp
//   third_level    two tables, in some ten seconds: nanoseconds of a load by the size of the block, for so many loads
//   at
//                  a time; and for a load at a time, with so many cycles between them, the time of these left out
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "by_clock.h"

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Lines of a block, each of which holds the address of the next in a random order.
class Block {
  public:
    explicit Block(std::size_t bytes) : memory_(mapped(bytes)), places_(chain_through(memory_, bytes / line_bytes)) {}
    ~Block() { munmap(memory_, lines() * line_bytes); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    std::size_t lines() const { return places_.size(); }
    void* at(std::size_t place) const { return places_[place]; }

  private:
    char* memory_;
    std::vector<void*> places_;
};

/// Of a load: the median of as many rounds as fit in 60 ms, after two.
template <class Round>
double median_ns(double loads, const Round& round) {
    for (int i = 0; i < 2; ++i) round();
    std::vector<double> times;
    for (const double end = now_ns() + 60e6; now_ns() < end || times.size() < 3;) {
        const double start = now_ns();
        round();
        times.push_back((now_ns() - start) / loads);
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

template <std::size_t at_a_time>
double side_by_side_ns(const Block& block) {
    std::array<void*, at_a_time> at;
    const std::size_t each = block.lines() / at_a_time;
    for (std::size_t i = 0; i < at_a_time; ++i) at[i] = block.at(i * each);
    return median_ns(static_cast<double>(each * at_a_time), [&] {
        for (std::size_t step = 0; step < each; ++step)
            for (void*& place : at) {
                place = *static_cast<void**>(place);
                asm volatile("" : "+r"(place));
            }
    });
}

/// `sums` follow each load, each a cycle, and the next load waits for them.
double with_sums_ns(const Block& block, int sums) {
    void* place = block.at(0);
    std::uintptr_t nothing = 0;  // in a register, since some cores add constants at renaming
    asm volatile("" : "+r"(nothing));
    const auto add = [&] {
        for (int i = 0; i < sums; ++i) asm volatile("add %1, %0" : "+r"(place) : "r"(nothing));
    };
    const auto steps = static_cast<double>(block.lines());
    const double both = median_ns(steps, [&] {
        for (std::size_t step = 0; step < block.lines(); ++step) {
            place = *static_cast<void**>(place);
            add();
        }
    });
    return both - median_ns(steps, [&] {
               for (std::size_t step = 0; step < block.lines(); ++step) add();
           });
}

}  // namespace

int main() {
    std::puts("MiB, loads at a time     1       2       4       8      16");
    for (const std::size_t size : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) {
        const Block block(size * mib);
        std::printf("%-19zu %7.1f %7.1f %7.1f %7.1f %7.1f\n", size, side_by_side_ns<1>(block),
                    side_by_side_ns<2>(block), side_by_side_ns<4>(block), side_by_side_ns<8>(block),
                    side_by_side_ns<16>(block));
    }
    std::puts("MiB, sums after each     0     100     300    1000    3000");
    for (const std::size_t size : {2, 3, 4, 6}) {
        const Block block(size * mib);
        std::printf("%-19zu", size);
        for (const int sums : {0, 100, 300, 1000, 3000}) std::printf(" %7.1f", with_sums_ns(block, sums));
        std::puts("");
    }
    return 0;
}
