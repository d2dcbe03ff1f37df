// The library's hash table with chains: inserting, then looking up keys, half of which are there.
#include <unordered_map>

#include "common.h"

int main() {
    std::unordered_map<std::uint64_t, std::uint64_t> map;
    std::uint64_t state = 1, found = 0;
    const std::uint64_t keys = 400000;
    for (std::uint64_t i = 0; i < keys; ++i) map[next_random(state) % (2 * keys)] = i;
    for (std::uint64_t i = 0; i < 16 * keys; ++i) found += map.count(next_random(state) % (2 * keys));
    return answer(found);
}
