// For the programs of the bench: random numbers that are the same everywhere, and an answer that no compiler can drop.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>

inline std::uint64_t next_random(std::uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

inline int answer(std::uint64_t value) {
    std::printf("%llu\n", static_cast<unsigned long long>(value));
    return 0;
}
