// A block where the CPU has instructions for four rounds and for four message words at a time. The variant's file
// includes this once, after it has defined TMAPROBE_SHA (the attribute that switches its instructions on) and, in its
// own unnamed namespace, Words (four 32-bit words), load, add, four_rounds and next_words; all of this is private to
// that file.
#include <cstdint>

namespace tmaprobe::kernels::sha256 {
namespace {

/// Folds 64 bytes into the two halves of the state, in the order in which four_rounds takes them.
TMAPROBE_SHA inline __attribute__((always_inline)) void fold_block(Words& one, Words& other, const std::uint8_t* data) {
    const Words one_before = one, other_before = other;
    Words w0 = load(data), w1 = load(data + 16), w2 = load(data + 32), w3 = load(data + 48);
    four_rounds(one, other, w0, 0);
    four_rounds(one, other, w1, 4);
    four_rounds(one, other, w2, 8);
    four_rounds(one, other, w3, 12);
#pragma GCC unroll 3
    for (int t = 16; t < 64; t += 16) {
        w0 = next_words(w0, w1, w2, w3);
        four_rounds(one, other, w0, t);
        w1 = next_words(w1, w2, w3, w0);
        four_rounds(one, other, w1, t + 4);
        w2 = next_words(w2, w3, w0, w1);
        four_rounds(one, other, w2, t + 8);
        w3 = next_words(w3, w0, w1, w2);
        four_rounds(one, other, w3, t + 12);
    }
    one = add(one, one_before);
    other = add(other, other_before);
}

}  // namespace
}  // namespace tmaprobe::kernels::sha256
