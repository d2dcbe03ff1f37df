// Decisions by random data that the compiler must leave as branches.
#include <vector>

#include "common.h"

int main() {
    std::uint64_t state = 1, a = 0, b = 0;
    std::vector<std::uint8_t> data(1 << 18);
    for (auto& d : data) d = static_cast<std::uint8_t>(next_random(state));
    for (int round = 0; round < 250; ++round)
        for (const auto d : data) {
            if (d & 1) {
                a += d;
                asm volatile("" : "+r"(a));
            } else if (d > 100) {
                b ^= a;
                asm volatile("" : "+r"(b));
            }
        }
    return answer(a + b);
}
