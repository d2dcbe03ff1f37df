#pragma once

#include <cstdint>

#include "base/hash.h"

namespace tmaprobe::model {

/// Beside golden_factor, another odd one that carries what tells numbers apart into the highest bits of a product.
inline constexpr std::uint64_t second_factor = 0xff51afd7ed558ccdu;
/// And a third, which keeps apart what is looked back upon besides.
inline constexpr std::uint64_t third_factor = 0x9e6c63d0876a9a35u;

/// A counter between 0 and `most` that counts how often something was so, and forgets.
template <class Number>
void train(Number& counter, bool up, Number most) {
    if (up && counter < most) ++counter;
    if (!up && counter > 0) --counter;
}

}  // namespace tmaprobe::model
