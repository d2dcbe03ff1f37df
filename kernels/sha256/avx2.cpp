// The message schedules of two blocks side by side in AVX2, the rounds in plain registers with the
// three-operand rotation of BMI2.
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "kernels/sha256/round_constants.h"
#include "kernels/sha256/sha256.h"

#define TMAPROBE_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define TMAPROBE_AVX2_INLINE TMAPROBE_AVX2 inline __attribute__((always_inline))

namespace tmaprobe::kernels::sha256 {
namespace {

/// The names of the eight variables of the rounds; every four rounds they stand four places on.
struct Variables {
    std::uint32_t a, b, c, d, e, f, g, h, ab;
};

/// sigma1 of the words 0 and 2 of each half of x, see ssse3.cpp.
TMAPROBE_AVX2_INLINE __m256i small_sigma1(__m256i x) {
    const __m256i rotated = _mm256_xor_si256(_mm256_srli_epi64(x, 17), _mm256_srli_epi64(x, 19));
    return _mm256_xor_si256(rotated, _mm256_srli_epi32(x, 10));
}

TMAPROBE_AVX2_INLINE __m256i small_sigma0(__m256i x) {
    const __m256i right = _mm256_xor_si256(_mm256_srli_epi32(x, 7), _mm256_srli_epi32(x, 18));
    const __m256i left = _mm256_xor_si256(_mm256_slli_epi32(x, 25), _mm256_slli_epi32(x, 14));
    return _mm256_xor_si256(_mm256_xor_si256(right, left), _mm256_srli_epi32(x, 3));
}

/// Message words t .. t+3 of both blocks out of the 16 before them.
TMAPROBE_AVX2_INLINE __m256i next_words(__m256i w0, __m256i w1, __m256i w2, __m256i w3) {
    const __m256i to_low = _mm256_set_epi32(-1, -1, 0x0b0a0908, 0x03020100, -1, -1, 0x0b0a0908, 0x03020100);
    const __m256i to_high = _mm256_set_epi32(0x0b0a0908, 0x03020100, -1, -1, 0x0b0a0908, 0x03020100, -1, -1);
    __m256i words = _mm256_add_epi32(w0, _mm256_alignr_epi8(w3, w2, 4));
    words = _mm256_add_epi32(words, small_sigma0(_mm256_alignr_epi8(w1, w0, 4)));
    words = _mm256_add_epi32(words, _mm256_shuffle_epi8(small_sigma1(_mm256_shuffle_epi32(w3, 0xfa)), to_low));
    return _mm256_add_epi32(words, _mm256_shuffle_epi8(small_sigma1(_mm256_shuffle_epi32(words, 0x50)), to_high));
}

/// Four words of each block, of the first in the low half.
TMAPROBE_AVX2_INLINE __m256i load(const std::uint8_t* first, const std::uint8_t* second) {
    const __m256i to_big_endian =
        _mm256_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203, 0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m256i words =
        _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first))),
                                _mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), 1);
    return _mm256_shuffle_epi8(words, to_big_endian);
}

TMAPROBE_AVX2_INLINE void store_with_constants(std::uint32_t* kw, __m256i w, int t) {
    const __m256i k =
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(round_constants + t)));
    _mm256_store_si256(reinterpret_cast<__m256i*>(kw), _mm256_add_epi32(w, k));
}

/// One round of the standard; `kw` is the round constant plus the message word. `ab` enters as (b ^ c) and leaves as
/// (a ^ b), which the next round needs: the majority of a, b, c is ((a ^ b) & (b ^ c)) ^ b. The caller moves the names
/// of the variables on by one instead of their values. The order of the instructions is one that was found to be fast
/// by measuring (Zen 4): compilers choose orders that take 4 to 8% longer.
TMAPROBE_AVX2_INLINE void round(std::uint32_t a, std::uint32_t b, std::uint32_t& d, std::uint32_t e, std::uint32_t f,
                                std::uint32_t g, std::uint32_t& h, const std::uint32_t& kw, std::uint32_t& ab) {
    std::uint32_t x, y, z, s;
    asm("rorx $11, %[e], %[x]\n\t"
        "add %[kw], %[h]\n\t"
        "andn %[g], %[e], %[y]\n\t"
        "mov %[f], %[z]\n\t"
        "rorx $25, %[e], %[s]\n\t"
        "and %[e], %[z]\n\t"
        "add %[z], %[h]\n\t"
        "xor %[x], %[s]\n\t"
        "rorx $6, %[e], %[x]\n\t"
        "rorx $22, %[a], %[z]\n\t"
        "add %[y], %[h]\n\t"  // Ch(e, f, g) = (e & f) + (~e & g)
        "xor %[x], %[s]\n\t"
        "mov %[a], %[x]\n\t"
        "xor %[b], %[x]\n\t"
        "rorx $13, %[a], %[y]\n\t"
        "add %[s], %[h]\n\t"  // Sigma1(e)
        "and %[x], %[ab]\n\t"
        "xor %[y], %[z]\n\t"
        "rorx $2, %[a], %[y]\n\t"
        "add %[h], %[d]\n\t"
        "xor %[b], %[ab]\n\t"
        "xor %[y], %[z]\n\t"
        "add %[ab], %[h]\n\t"  // Maj(a, b, c)
        "add %[z], %[h]"       // Sigma0(a)
        : [d] "+r"(d), [h] "+r"(h), [ab] "+r"(ab), [x] "=&r"(x), [y] "=&r"(y), [z] "=&r"(z), [s] "=&r"(s)
        : [a] "r"(a), [b] "r"(b), [e] "r"(e), [f] "r"(f), [g] "r"(g), [kw] "m"(kw)
        : "cc");
    ab = x;
}

TMAPROBE_AVX2_INLINE void four_rounds(Variables& v, const std::uint32_t* kw) {
    round(v.a, v.b, v.d, v.e, v.f, v.g, v.h, kw[0], v.ab);
    round(v.h, v.a, v.c, v.d, v.e, v.f, v.g, kw[1], v.ab);
    round(v.g, v.h, v.b, v.c, v.d, v.e, v.f, kw[2], v.ab);
    round(v.f, v.g, v.a, v.b, v.c, v.d, v.e, kw[3], v.ab);
    std::swap(v.a, v.e), std::swap(v.b, v.f), std::swap(v.c, v.g), std::swap(v.d, v.h);
}

TMAPROBE_AVX2_INLINE Variables load(const State& s) {
    return {s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[1] ^ s[2]};
}

TMAPROBE_AVX2_INLINE void add(State& s, const Variables& v) {
    s[0] += v.a, s[1] += v.b, s[2] += v.c, s[3] += v.d;
    s[4] += v.e, s[5] += v.f, s[6] += v.g, s[7] += v.h;
}

}  // namespace

TMAPROBE_AVX2 void compress_avx2(State& state, const std::uint8_t* data, std::size_t blocks) {
    // Message words plus constants: four of the first block, four of the second, and so on.
    alignas(64) std::uint32_t kw[128];
    while (blocks) {
        const bool two = blocks > 1;
        const std::uint8_t* second = two ? data + 64 : data;  // alone: its other half is thrown away
        __m256i w[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            w[i] = load(data + 16 * i, second + 16 * i);
            store_with_constants(kw + 8 * i, w[i], 4 * i);
        }
        Variables v = load(state);
        for (int t = 16; t < 64; t += 16) {
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
                w[i] = next_words(w[i], w[(i + 1) & 3], w[(i + 2) & 3], w[(i + 3) & 3]);
                four_rounds(v, kw + 2 * t - 32 + 8 * i);
                store_with_constants(kw + 2 * t + 8 * i, w[i], t + 4 * i);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) four_rounds(v, kw + 96 + 8 * i);
        add(state, v);
        if (two) {
            v = load(state);
            for (int t = 0; t < 128; t += 32) {
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) four_rounds(v, kw + t + 8 * i + 4);
            }
            add(state, v);
        }
        data += two ? 128 : 64;
        blocks -= two ? 2 : 1;
    }
}

}  // namespace tmaprobe::kernels::sha256
#endif
