#pragma once

#include <cstdint>

namespace tmaprobe {

/// 2^64 by the golden ratio, which is odd: in a product with it the highest bits depend on all bits of the other factor
/// (D. Knuth, The Art of Computer Programming, volume 3, 6.4).
inline constexpr std::uint64_t golden_factor = 0x9e3779b97f4a7c15u;

}  // namespace tmaprobe
