#pragma once

#include <cstdint>

namespace tmaprobe::model {

/// Odd factors that carry what tells numbers apart into the highest bits of a product.
inline constexpr std::uint64_t golden_factor = 0x9e3779b97f4a7c15u, second_factor = 0xff51afd7ed558ccdu;

/// A counter between 0 and `most` that counts how often something was so, and forgets.
template <class Number>
void train(Number& counter, bool up, Number most) {
    if (up && counter < most) ++counter;
    if (!up && counter > 0) --counter;
}

}  // namespace tmaprobe::model
