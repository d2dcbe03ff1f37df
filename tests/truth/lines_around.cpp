// Whether lines around one that misses come with it, by the clock: AMD's region prefetcher.
//   c++ -std=c++20 -O2 -o lines_around lines_around.cpp
//   lines_around    three tables, in some twenty seconds: cycles of a load in a chain
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "by_clock.h"

namespace {

constexpr std::size_t line = 64, lines_of_block = 13, before = 5;  // whatever multiple of a line a block begins at
constexpr std::size_t kib = 1024;

/// Loads one after the other, each of which holds the address of the next.
class Chain {
  public:
    explicit Chain(std::size_t bytes) : memory_(mapped(bytes)), bytes_(bytes) {}
    ~Chain() { munmap(memory_, bytes_); }
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;

    std::size_t lines() const { return bytes_ / line; }
    void begin() { places_.clear(); }
    void add(std::size_t at_line) { places_.push_back(memory_ + at_line * line); }
    std::size_t loads() const { return places_.size(); }

    /// Of a load, of the fastest of some laps; one instruction loads each first line of two, and another each second.
    double cycles() {
        for (std::size_t i = 0; i < places_.size(); ++i)
            *reinterpret_cast<char**>(places_[i]) = places_[(i + 1) % places_.size()];
        constexpr int laps = 12;
        const double ns = least_ns(laps, [&] {
            char* at = places_.front();
            for (std::size_t i = 0; i < places_.size(); i += 2)
                asm volatile("mov (%0), %0\nmov (%0), %0" : "+r"(at) : : "memory");
        });
        return ns / static_cast<double>(places_.size()) / cycle_ns_;
    }

  private:
    char* memory_;
    std::size_t bytes_;
    std::vector<char*> places_;
    double cycle_ns_ = cycle_ns();
};

/// Cycles of the load of a second line in each block, as far from the first as one of `distances`, drawn by chance; in
/// so many of a hundred blocks there is none.
double second_line(Chain& chain, const std::vector<int>& distances, unsigned without) {
    const auto blocks = in_any_order(chain.lines() / lines_of_block);
    chain.begin();
    for (const std::size_t block : blocks) chain.add(block * lines_of_block + before);
    const double alone = chain.cycles();
    std::minstd_rand random(7);
    chain.begin();
    for (const std::size_t block : blocks) {
        const std::size_t first = block * lines_of_block + before;
        chain.add(first);
        if (random() / 8 % 100 < without) continue;
        chain.add(first + static_cast<std::size_t>(distances[random() / 8 % distances.size()]));
    }
    const auto firsts = static_cast<double>(blocks.size()), loads = static_cast<double>(chain.loads());
    return (chain.cycles() * loads - alone * firsts) / (loads - firsts);
}

/// All lines, in blocks of so many of which the order is any; within one it is any as well, or as they lie.
double blocks_of(Chain& chain, std::size_t lines, bool shuffled) {
    std::minstd_rand random(7);
    std::vector<std::size_t> within(lines);
    std::iota(within.begin(), within.end(), std::size_t{0});
    chain.begin();
    for (const std::size_t block : in_any_order(chain.lines() / lines)) {
        if (shuffled) std::shuffle(within.begin(), within.end(), random);
        for (const std::size_t place : within) chain.add(block * lines + place);
    }
    return chain.cycles();
}

}  // namespace

int main() {
    Chain small(512 * kib), large(12288 * kib), dense(4096 * kib);
    std::puts("a second line so far from the first, in blocks in any order, cycles");
    std::puts("                     -5    -4    -1     1     3     6     7");
    for (Chain* chain : {&dense, &large}) {  // of which the second level has the blocks' lines, or has not
        std::printf("of %5zu KiB      ", chain->lines() * line / kib);
        for (const int distance : {-5, -4, -1, 1, 3, 6, 7}) std::printf(" %5.0f", second_line(*chain, {distance}, 0));
        std::puts("");
    }
    std::puts("a next line in so many of a hundred blocks, and lines by chance, cycles of the second");
    std::puts("                    100    50    25    12    -1,1  1,2,3");
    std::printf("of %5zu KiB      ", large.lines() * line / kib);
    for (const unsigned without : {0u, 50u, 75u, 88u}) std::printf(" %5.0f", second_line(large, {1}, without));
    std::printf("  %5.0f  %5.0f\n", second_line(large, {-1, 1}, 0), second_line(large, {1, 2, 3}, 0));
    std::puts("all lines, in blocks of so many in any order, cycles of a load");
    std::puts("lines                 1     2     4     8    16");
    for (Chain* chain : {&small, &dense})
        for (const bool shuffled : {false, true}) {
            std::printf("%5zu KiB, %s", chain->lines() * line / kib, shuffled ? "any    " : "in order");
            for (const std::size_t lines : {1, 2, 4, 8, 16}) std::printf(" %5.0f", blocks_of(*chain, lines, shuffled));
            std::puts("");
        }
    return 0;
}
