// Plain C++ for any CPU: the message schedule is kept in a ring of 16 words, in registers where they fit.
#include <bit>
#include <cstring>

#include "kernels/sha256/round_constants.h"
#include "kernels/sha256/sha256.h"

namespace tmaprobe::kernels::sha256 {
namespace {

#define TMAPROBE_INLINE inline __attribute__((always_inline))

TMAPROBE_INLINE std::uint32_t load_big_endian(const std::uint8_t* bytes) {
    std::uint32_t word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
    return word;
}
TMAPROBE_INLINE std::uint32_t small_sigma0(std::uint32_t x) { return std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3); }
TMAPROBE_INLINE std::uint32_t small_sigma1(std::uint32_t x) { return std::rotr(x, 17) ^ std::rotr(x, 19) ^ (x >> 10); }

TMAPROBE_INLINE std::uint32_t big_sigma0(std::uint32_t x) {
    return std::rotr(x, 2) ^ std::rotr(x, 13) ^ std::rotr(x, 22);
}
TMAPROBE_INLINE std::uint32_t big_sigma1(std::uint32_t x) {
    return std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25);
}
/// Ch(e, f, g) of the standard: bits of f where e has a 1, of g where it has a 0.
TMAPROBE_INLINE std::uint32_t choice(std::uint32_t e, std::uint32_t f, std::uint32_t g) { return ((f ^ g) & e) ^ g; }

/// Round i; `kw` is the round constant plus the message word. With every round the names of the variables move on by
/// one, and after eight they are back. `ab` enters as (b ^ c) and leaves as (a ^ b), which the next round needs: the
/// majority of a, b, c is ((a ^ b) & (b ^ c)) ^ b.
TMAPROBE_INLINE void round(std::uint32_t (&s)[8], std::uint32_t& ab, int i, std::uint32_t kw) {
    const auto at = [&](int name) -> std::uint32_t& { return s[(name - i) & 7]; };
    const std::uint32_t a = at(0), b = at(1), e = at(4);
    std::uint32_t& h = at(7);
    h += kw + choice(e, at(5), at(6)) + big_sigma1(e);
    at(3) += h;
    const std::uint32_t a_xor_b = a ^ b;
    h += big_sigma0(a) + ((a_xor_b & ab) ^ b);
    ab = a_xor_b;
}

}  // namespace

void compress_portable(State& state, const std::uint8_t* data, std::size_t blocks) {
    for (; blocks; --blocks, data += 64) {
        std::uint32_t s[8], w[16];
        for (int i = 0; i < 8; ++i) s[i] = state[i];
        std::uint32_t ab = s[1] ^ s[2];
        // Word and round in turns: the words fill the slots that the chain of the rounds leaves empty.
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) {
            w[i] = load_big_endian(data + 4 * i);
            round(s, ab, i, round_constants[i] + w[i]);
        }
        for (int t = 16; t < 64; t += 16) {
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i) {
                w[i] += small_sigma0(w[(i + 1) & 15]) + w[(i + 9) & 15] + small_sigma1(w[(i + 14) & 15]);
                round(s, ab, i, round_constants[t + i] + w[i]);
            }
        }
        for (int i = 0; i < 8; ++i) state[i] += s[i];
    }
}

}  // namespace tmaprobe::kernels::sha256
