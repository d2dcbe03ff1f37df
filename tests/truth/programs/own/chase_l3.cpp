// A chain of pointers through 24 MiB in random order: the third level, or memory.
#include <numeric>
#include <vector>

#include "common.h"

int main() {
    const std::size_t lines = 393216, words = 8;
    std::vector<std::uint64_t> next(lines * words), order(lines);
    std::iota(order.begin(), order.end(), 0);
    std::uint64_t state = 1;
    for (std::size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[next_random(state) % i]);
    for (std::size_t i = 0; i < lines; ++i) next[order[i] * words] = order[(i + 1) % lines] * words;
    std::uint64_t at = 0;
    for (int i = 0; i < 4000000; ++i) at = next[at];
    return answer(at);
}
