// Greatest common divisors by division: each step waits for the one before.
#include "common.h"

int main() {
    std::uint64_t state = 1, sum = 0;
    for (int i = 0; i < 2500000; ++i) {
        std::uint64_t a = next_random(state) >> 20, b = next_random(state) >> 20;
        while (b) {
            const std::uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        sum += a;
    }
    return answer(sum);
}
