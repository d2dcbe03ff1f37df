// A branch on what was loaded from 64 MiB, either way by chance: the next loads do not depend on it, and a core that
// waits for the branch has asked for them already.
#include <vector>

#include "common.h"

int main() {
    const std::uint64_t size = 1 << 23;
    std::vector<std::uint64_t> values(size);
    std::uint64_t state = 1, sum = 0, place = 1;
    for (auto& value : values) value = next_random(state) >> 20;
    for (int i = 0; i < 20000000; ++i) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        if (values[(place >> 30) % size] & 1)
            asm volatile("add $3, %0" : "+r"(sum));
        else
            asm volatile("sub $1, %0" : "+r"(sum));
    }
    return answer(sum);
}
