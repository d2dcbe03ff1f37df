// The SHA-2 instructions of Armv8: four rounds, and four message words, per pair of instructions.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/sha256/rounds.h"
#include "kernels/sha256/sha256.h"

// g++ 12 has these instructions under the name of the whole family.
#define TMAPROBE_SHA2 __attribute__((target("+crypto")))

namespace tmaprobe::kernels::sha256 {
namespace {

TMAPROBE_SHA2 inline __attribute__((always_inline)) void four_rounds(uint32x4_t& abcd, uint32x4_t& efgh,
                                                                     uint32x4_t w, int t) {
    const uint32x4_t kw = vaddq_u32(w, vld1q_u32(round_constants + t));
    const uint32x4_t abcd_before = abcd;
    abcd = vsha256hq_u32(abcd, efgh, kw);
    efgh = vsha256h2q_u32(efgh, abcd_before, kw);
}

/// Message words t .. t+3 out of the 16 before them (w0 is the oldest four).
TMAPROBE_SHA2 inline __attribute__((always_inline)) uint32x4_t next_words(uint32x4_t w0, uint32x4_t w1,
                                                                          uint32x4_t w2, uint32x4_t w3) {
    return vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
}

TMAPROBE_SHA2 inline __attribute__((always_inline)) uint32x4_t load(const std::uint8_t* bytes) {
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes)));
}

}  // namespace

TMAPROBE_SHA2 void compress_armv8(State& state, const std::uint8_t* data, std::size_t blocks) {
    uint32x4_t abcd = vld1q_u32(&state[0]), efgh = vld1q_u32(&state[4]);
    for (; blocks; --blocks, data += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w0 = load(data), w1 = load(data + 16), w2 = load(data + 32), w3 = load(data + 48);
        four_rounds(abcd, efgh, w0, 0);
        four_rounds(abcd, efgh, w1, 4);
        four_rounds(abcd, efgh, w2, 8);
        four_rounds(abcd, efgh, w3, 12);
#pragma GCC unroll 3
        for (int t = 16; t < 64; t += 16) {
            w0 = next_words(w0, w1, w2, w3);
            four_rounds(abcd, efgh, w0, t);
            w1 = next_words(w1, w2, w3, w0);
            four_rounds(abcd, efgh, w1, t + 4);
            w2 = next_words(w2, w3, w0, w1);
            four_rounds(abcd, efgh, w2, t + 8);
            w3 = next_words(w3, w0, w1, w2);
            four_rounds(abcd, efgh, w3, t + 12);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(&state[0], abcd);
    vst1q_u32(&state[4], efgh);
}

}  // namespace tmaprobe::kernels::sha256
#endif
