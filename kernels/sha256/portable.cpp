// Plain C++ for any CPU: the message schedule is kept in a ring of 16 words, in registers where they fit.
#include <cstring>

#include "kernels/sha256/rounds.h"
#include "kernels/sha256/sha256.h"

namespace tmaprobe::kernels::sha256 {
namespace {

TMAPROBE_INLINE std::uint32_t load_big_endian(const std::uint8_t* bytes) {
    std::uint32_t word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
    return word;
}
TMAPROBE_INLINE std::uint32_t small_sigma0(std::uint32_t x) {
    return std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
}
TMAPROBE_INLINE std::uint32_t small_sigma1(std::uint32_t x) {
    return std::rotr(x, 17) ^ std::rotr(x, 19) ^ (x >> 10);
}

/// Eight rounds from round t on, after which every variable has its own name again.
TMAPROBE_INLINE void eight_rounds(std::uint32_t (&s)[8], std::uint32_t& ab, const std::uint32_t* k,
                                  const std::uint32_t* w) {
    round<choice_by_xor>(s[0], s[1], s[3], s[4], s[5], s[6], s[7], k[0] + w[0], ab);
    round<choice_by_xor>(s[7], s[0], s[2], s[3], s[4], s[5], s[6], k[1] + w[1], ab);
    round<choice_by_xor>(s[6], s[7], s[1], s[2], s[3], s[4], s[5], k[2] + w[2], ab);
    round<choice_by_xor>(s[5], s[6], s[0], s[1], s[2], s[3], s[4], k[3] + w[3], ab);
    round<choice_by_xor>(s[4], s[5], s[7], s[0], s[1], s[2], s[3], k[4] + w[4], ab);
    round<choice_by_xor>(s[3], s[4], s[6], s[7], s[0], s[1], s[2], k[5] + w[5], ab);
    round<choice_by_xor>(s[2], s[3], s[5], s[6], s[7], s[0], s[1], k[6] + w[6], ab);
    round<choice_by_xor>(s[1], s[2], s[4], s[5], s[6], s[7], s[0], k[7] + w[7], ab);
}

}  // namespace

void compress_portable(State& state, const std::uint8_t* data, std::size_t blocks) {
    for (; blocks; --blocks, data += 64) {
        std::uint32_t s[8], w[16];
        for (int i = 0; i < 8; ++i) s[i] = state[i];
        for (int i = 0; i < 16; ++i) w[i] = load_big_endian(data + 4 * i);
        std::uint32_t ab = s[1] ^ s[2];
        eight_rounds(s, ab, round_constants, w);
        eight_rounds(s, ab, round_constants + 8, w + 8);
        for (int t = 16; t < 64; t += 16) {
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                w[i] += small_sigma0(w[(i + 1) & 15]) + w[(i + 9) & 15] + small_sigma1(w[(i + 14) & 15]);
            eight_rounds(s, ab, round_constants + t, w);
            eight_rounds(s, ab, round_constants + t + 8, w + 8);
        }
        for (int i = 0; i < 8; ++i) state[i] += s[i];
    }
}

}  // namespace tmaprobe::kernels::sha256
