#include "base/bits_set.h"

#include <gtest/gtest.h>

#include <random>

namespace tmaprobe {
namespace {

TEST(BitsSet, AreAsManyAsOneByOne) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t word = random() & random() >> (i % 64);
        unsigned count = 0;
        for (unsigned bit = 0; bit < 64; ++bit) count += word >> bit & 1;
        EXPECT_EQ(bits_set(word), count) << word;
    }
    EXPECT_EQ(bits_set(0), 0U);
    EXPECT_EQ(bits_set(~std::uint64_t{0}), 64U);
}

}  // namespace
}  // namespace tmaprobe
