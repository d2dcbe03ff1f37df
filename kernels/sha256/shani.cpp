// The SHA extensions of x86: two rounds per instruction, four message words per pair of instructions.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/sha256/round_constants.h"
#include "kernels/sha256/sha256.h"

#define TMAPROBE_SHA __attribute__((target("sha,sse4.1,ssse3")))

namespace tmaprobe::kernels::sha256 {
namespace {

using Words = __m128i;

/// Four rounds with the message words w: each instruction takes two words from the low half.
TMAPROBE_SHA inline __attribute__((always_inline)) void four_rounds(Words& abef, Words& cdgh, Words w, int t) {
    const Words kw = _mm_add_epi32(w, _mm_load_si128(reinterpret_cast<const __m128i*>(round_constants + t)));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, kw);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(kw, 0x0e));
}

/// Message words t .. t+3 out of the 16 before them (w0 is the oldest four).
TMAPROBE_SHA inline __attribute__((always_inline)) Words next_words(Words w0, Words w1, Words w2, Words w3) {
    const Words words = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
    return _mm_sha256msg2_epu32(words, w3);
}

TMAPROBE_SHA inline __attribute__((always_inline)) Words load(const std::uint8_t* bytes) {
    const Words to_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)), to_big_endian);
}

TMAPROBE_SHA inline __attribute__((always_inline)) Words add(Words one, Words other) {
    return _mm_add_epi32(one, other);
}

}  // namespace
}  // namespace tmaprobe::kernels::sha256

#include "kernels/sha256/by_fours.h"

namespace tmaprobe::kernels::sha256 {

TMAPROBE_SHA void compress_shani(State& state, const std::uint8_t* data, std::size_t blocks) {
    // The instructions want the state as (a b e f) and (c d g h), highest word first.
    __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&state[0]));
    __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&state[4]));
    const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);

    for (; blocks; --blocks, data += 64) fold_block(abef, cdgh, data);

    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    dcba = _mm_blend_epi16(feba, dchg, 0xf0);
    hgfe = _mm_alignr_epi8(dchg, feba, 8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[0]), dcba);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[4]), hgfe);
}

}  // namespace tmaprobe::kernels::sha256
#endif
