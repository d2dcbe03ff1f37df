// The sieve of Eratosthenes over 16 million.
#include <vector>

#include "common.h"

int main() {
    const std::size_t n = 16000000;
    std::uint64_t primes = 0;
    std::vector<std::uint8_t> composite(n);
    for (int round = 0; round < 3; ++round) {
        for (auto& c : composite) c = 0;
        for (std::size_t i = 2; i < n; ++i) {
            if (composite[i]) continue;
            ++primes;
            for (std::size_t j = i * i; j < n; j += i) composite[j] = 1;
        }
    }
    return answer(primes);
}
