// Compiled without sanitizers, vector registers and jump tables: its code is copied into other programs.
#include "trace/sha_routine.h"

#if defined(__x86_64__)

namespace tmaprobe::trace {
namespace {

using Word = std::uint32_t;
#define TMAPROBE_INLINE inline __attribute__((always_inline))

TMAPROBE_INLINE Word rotated(Word x, int right) { return x >> right | x << (32 - right); }

// FIPS 180-4's functions of the SHA-256 schedule and round.
TMAPROBE_INLINE Word small_sigma0(Word x) { return rotated(x, 7) ^ rotated(x, 18) ^ (x >> 3); }
TMAPROBE_INLINE Word small_sigma1(Word x) { return rotated(x, 17) ^ rotated(x, 19) ^ (x >> 10); }
TMAPROBE_INLINE Word big_sigma0(Word x) { return rotated(x, 2) ^ rotated(x, 13) ^ rotated(x, 22); }
TMAPROBE_INLINE Word big_sigma1(Word x) { return rotated(x, 6) ^ rotated(x, 11) ^ rotated(x, 25); }

/// The registers hold two of the eight state words a..h per operand: {F, E, B, A} and {H, G, D, C}, lowest first.
TMAPROBE_INLINE void two_rounds(Word* cdgh, const Word* abef, const Word* keyed) {
    Word a = abef[3], b = abef[2], e = abef[1], f = abef[0];
    Word c = cdgh[3], d = cdgh[2], g = cdgh[1], h = cdgh[0];
    for (int round = 0; round < 2; ++round) {
        const Word first = h + big_sigma1(e) + ((e & f) ^ (~e & g)) + keyed[round];
        const Word second = big_sigma0(a) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    cdgh[3] = a, cdgh[2] = b, cdgh[1] = e, cdgh[0] = f;
}

TMAPROBE_INLINE void schedule_first(Word* words, const Word* next) {
    words[0] += small_sigma0(words[1]);
    words[1] += small_sigma0(words[2]);
    words[2] += small_sigma0(words[3]);
    words[3] += small_sigma0(next[0]);
}

TMAPROBE_INLINE void schedule_second(Word* partial, const Word* words) {
    partial[0] += small_sigma1(words[2]);
    partial[1] += small_sigma1(words[3]);
    partial[2] += small_sigma1(partial[0]);
    partial[3] += small_sigma1(partial[1]);
}

}  // namespace

// The linker names both ends of a section whose name could be a variable's.
extern "C" __attribute__((section("tmaprobe_sha_code"), noinline)) void tmaprobe_sha_in_software(ShaOperands* operands,
                                                                                                 std::uint64_t opcode) {
    if (opcode == sha256_rounds)
        two_rounds(operands->destination, operands->source, operands->keyed);
    else if (opcode == sha256_schedule_first)
        schedule_first(operands->destination, operands->source);
    else
        schedule_second(operands->destination, operands->source);
}

extern "C" const std::uint8_t __start_tmaprobe_sha_code[], __stop_tmaprobe_sha_code[];

MachineCode sha_routine() {
    return {__start_tmaprobe_sha_code, static_cast<std::size_t>(__stop_tmaprobe_sha_code - __start_tmaprobe_sha_code)};
}

}  // namespace tmaprobe::trace

#endif
