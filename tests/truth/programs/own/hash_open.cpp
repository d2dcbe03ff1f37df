// Open addressing in 64 MiB: one miss of all caches near the core for each look-up, many of them at once.
#include <vector>

#include "common.h"

int main() {
    const std::uint64_t size = 1 << 23;
    std::vector<std::uint64_t> table(size);
    std::uint64_t state = 1, sum = 0;
    for (std::uint64_t i = 0; i < 20000000; ++i) {
        const std::uint64_t key = next_random(state) | 1;
        std::uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 41;
        for (int probes = 0; probes < 4 && table[at] && table[at] != key; ++probes) at = (at + 1) % size;
        if (table[at])
            ++sum;
        else if (i % 4 == 0)
            table[at] = key;
    }
    return answer(sum);
}
