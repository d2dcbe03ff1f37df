// The SHA-2 instructions of Armv8: four rounds, and four message words, per pair of instructions.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels/sha256/round_constants.h"
#include "kernels/sha256/sha256.h"

// g++ 12 has these instructions under the name of the whole family.
#define TMAPROBE_SHA __attribute__((target("+crypto")))

namespace tmaprobe::kernels::sha256 {
namespace {

using Words = uint32x4_t;

TMAPROBE_SHA inline __attribute__((always_inline)) void four_rounds(Words& abcd, Words& efgh, Words w, int t) {
    const Words kw = vaddq_u32(w, vld1q_u32(round_constants + t));
    const Words abcd_before = abcd;
    abcd = vsha256hq_u32(abcd, efgh, kw);
    efgh = vsha256h2q_u32(efgh, abcd_before, kw);
}

/// Message words t .. t+3 out of the 16 before them (w0 is the oldest four).
TMAPROBE_SHA inline __attribute__((always_inline)) Words next_words(Words w0, Words w1, Words w2, Words w3) {
    return vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
}

TMAPROBE_SHA inline __attribute__((always_inline)) Words load(const std::uint8_t* bytes) {
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes)));
}

TMAPROBE_SHA inline __attribute__((always_inline)) Words add(Words one, Words other) { return vaddq_u32(one, other); }

}  // namespace
}  // namespace tmaprobe::kernels::sha256

#include "kernels/sha256/by_fours.h"

namespace tmaprobe::kernels::sha256 {

TMAPROBE_SHA void compress_armv8(State& state, const std::uint8_t* data, std::size_t blocks) {
    Words abcd = vld1q_u32(&state[0]), efgh = vld1q_u32(&state[4]);
    for (; blocks; --blocks, data += 64) fold_block(abcd, efgh, data);
    vst1q_u32(&state[0], abcd);
    vst1q_u32(&state[4], efgh);
}

}  // namespace tmaprobe::kernels::sha256
#endif
