// The message schedule four words at a time in SSSE3, the rounds in plain registers.
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "kernels/sha256/round_constants.h"
#include "kernels/sha256/sha256.h"

#define TMAPROBE_SSSE3 __attribute__((target("ssse3")))
#define TMAPROBE_SSSE3_INLINE TMAPROBE_SSSE3 inline __attribute__((always_inline))

namespace tmaprobe::kernels::sha256 {
namespace {

/// sigma1 of the words 0 and 2 of x, each standing twice in its half, so that a shift of the half is a
/// rotation of the word. The result is in words 0 and 2 too.
TMAPROBE_SSSE3_INLINE __m128i small_sigma1(__m128i x) {
    const __m128i rotated = _mm_xor_si128(_mm_srli_epi64(x, 17), _mm_srli_epi64(x, 19));
    return _mm_xor_si128(rotated, _mm_srli_epi32(x, 10));
}

TMAPROBE_SSSE3_INLINE __m128i small_sigma0(__m128i x) {
    const __m128i right = _mm_xor_si128(_mm_srli_epi32(x, 7), _mm_srli_epi32(x, 18));
    const __m128i left = _mm_xor_si128(_mm_slli_epi32(x, 25), _mm_slli_epi32(x, 14));
    return _mm_xor_si128(_mm_xor_si128(right, left), _mm_srli_epi32(x, 3));
}

/// Message words t .. t+3 out of the 16 before them. The last two need the first two: hence two steps.
TMAPROBE_SSSE3_INLINE __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
    const __m128i to_low = _mm_set_epi32(-1, -1, 0x0b0a0908, 0x03020100);
    const __m128i to_high = _mm_set_epi32(0x0b0a0908, 0x03020100, -1, -1);
    __m128i words = _mm_add_epi32(w0, _mm_alignr_epi8(w3, w2, 4));
    words = _mm_add_epi32(words, small_sigma0(_mm_alignr_epi8(w1, w0, 4)));
    words = _mm_add_epi32(words, _mm_shuffle_epi8(small_sigma1(_mm_shuffle_epi32(w3, 0xfa)), to_low));
    return _mm_add_epi32(words, _mm_shuffle_epi8(small_sigma1(_mm_shuffle_epi32(words, 0x50)), to_high));
}

TMAPROBE_SSSE3_INLINE void store_with_constants(std::uint32_t* kw, __m128i w, int t) {
    const __m128i k = _mm_load_si128(reinterpret_cast<const __m128i*>(round_constants + t));
    _mm_store_si128(reinterpret_cast<__m128i*>(kw), _mm_add_epi32(w, k));
}

/// One round of the standard; `kw` is the round constant plus the message word. `ab` enters as (b ^ c) and leaves as
/// (a ^ b), which the next round needs: the majority of a, b, c is ((a ^ b) & (b ^ c)) ^ b. The caller moves the names
/// of the variables on by one instead of their values. The order of the instructions is one that was found to be fast
/// by measuring (Zen 4): compilers choose orders that take 4% longer.
TMAPROBE_SSSE3_INLINE void round(std::uint32_t a, std::uint32_t b, std::uint32_t& d, std::uint32_t e, std::uint32_t f,
                                 std::uint32_t g, std::uint32_t& h, const std::uint32_t& kw, std::uint32_t& ab) {
    std::uint32_t x, y, z, s;
    asm("mov %[f], %[x]\n\t"
        "add %[kw], %[h]\n\t"
        "xor %[g], %[x]\n\t"
        "mov %[e], %[y]\n\t"
        "ror $25, %[y]\n\t"
        "mov %[e], %[z]\n\t"
        "ror $11, %[z]\n\t"
        "and %[e], %[x]\n\t"
        "xor %[z], %[y]\n\t"
        "mov %[e], %[z]\n\t"
        "ror $6, %[z]\n\t"
        "xor %[g], %[x]\n\t"
        "xor %[z], %[y]\n\t"
        "add %[x], %[h]\n\t"  // Ch(e, f, g) = ((f ^ g) & e) ^ g
        "mov %[a], %[x]\n\t"
        "add %[y], %[h]\n\t"  // Sigma1(e)
        "mov %[a], %[y]\n\t"
        "ror $22, %[y]\n\t"
        "add %[h], %[d]\n\t"
        "xor %[b], %[x]\n\t"
        "mov %[a], %[z]\n\t"
        "mov %[a], %[s]\n\t"
        "ror $13, %[s]\n\t"
        "xor %[s], %[y]\n\t"
        "ror $2, %[z]\n\t"
        "and %[x], %[ab]\n\t"
        "xor %[b], %[ab]\n\t"
        "xor %[z], %[y]\n\t"
        "add %[ab], %[h]\n\t"  // Maj(a, b, c)
        "add %[y], %[h]"       // Sigma0(a)
        : [d] "+r"(d), [h] "+r"(h), [ab] "+r"(ab), [x] "=&r"(x), [y] "=&r"(y), [z] "=&r"(z), [s] "=&r"(s)
        : [a] "r"(a), [b] "r"(b), [e] "r"(e), [f] "r"(f), [g] "r"(g), [kw] "m"(kw)
        : "cc");
    ab = x;
}

}  // namespace

TMAPROBE_SSSE3 void compress_ssse3(State& state, const std::uint8_t* data, std::size_t blocks) {
    const __m128i to_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    alignas(64) std::uint32_t kw[16];
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    std::uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    for (; blocks; --blocks, data += 64) {
        __m128i w[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i), to_big_endian);
            store_with_constants(kw + 4 * i, w[i], 4 * i);
        }
        std::uint32_t ab = b ^ c;
        for (int t = 0;; t += 16) {
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
                const __m128i next = next_words(w[i], w[(i + 1) & 3], w[(i + 2) & 3], w[(i + 3) & 3]);
                round(a, b, d, e, f, g, h, kw[4 * i], ab);
                round(h, a, c, d, e, f, g, kw[4 * i + 1], ab);
                round(g, h, b, c, d, e, f, kw[4 * i + 2], ab);
                round(f, g, a, b, c, d, e, kw[4 * i + 3], ab);
                w[i] = next;
                store_with_constants(kw + 4 * i, next, t + 16 + 4 * i);
                // After four rounds the names stand four places on; swapping them costs nothing.
                std::swap(a, e), std::swap(b, f), std::swap(c, g), std::swap(d, h);
            }
            if (t == 32) break;
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            round(a, b, d, e, f, g, h, kw[4 * i], ab);
            round(h, a, c, d, e, f, g, kw[4 * i + 1], ab);
            round(g, h, b, c, d, e, f, kw[4 * i + 2], ab);
            round(f, g, a, b, c, d, e, kw[4 * i + 3], ab);
            std::swap(a, e), std::swap(b, f), std::swap(c, g), std::swap(d, h);
        }
        a = state[0] += a, b = state[1] += b, c = state[2] += c, d = state[3] += d;
        e = state[4] += e, f = state[5] += f, g = state[6] += g, h = state[7] += h;
    }
}

}  // namespace tmaprobe::kernels::sha256
#endif
