// A template that is inlined over and over: thousands of instructions in one function.
#pragma once
#include <cstdint>

template <int depth>
[[gnu::always_inline]] inline std::uint64_t mixed(std::uint64_t value) {
    if constexpr (depth == 0) {
        return value * 0x9e3779b97f4a7c15u + 1;  // PLANTED
    } else {
        return mixed<depth - 1>(mixed<depth - 1>(value));
    }
}
