#pragma once

#include <bit>
#include <cstdint>

// The scalar half of the variants that have no instruction for the whole round. Everything here is
// inlined into the variant's own function and so compiled for its instruction set and no other.
namespace tmaprobe::kernels::sha256 {

#define TMAPROBE_INLINE static inline __attribute__((always_inline))

/// Round constants: the first 32 bits of the fractional parts of the cube roots of the first 64 primes
/// (FIPS 180-4 section 4.2.2).
alignas(64) inline constexpr std::uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

TMAPROBE_INLINE std::uint32_t big_sigma0(std::uint32_t x) {
    return std::rotr(x, 2) ^ std::rotr(x, 13) ^ std::rotr(x, 22);
}
TMAPROBE_INLINE std::uint32_t big_sigma1(std::uint32_t x) {
    return std::rotr(x, 6) ^ std::rotr(x, 11) ^ std::rotr(x, 25);
}

/// Ch(e, f, g) of the standard: bits of f where e has a 1, of g where it has a 0. In the first form three
/// operations; in the second the two halves can be added to a sum one after the other, and `~e & g` is
/// one instruction where there is BMI1: faster with it, slower without.
TMAPROBE_INLINE std::uint32_t choice_by_xor(std::uint32_t e, std::uint32_t f, std::uint32_t g) {
    return ((f ^ g) & e) ^ g;
}
TMAPROBE_INLINE std::uint32_t choice_by_andn(std::uint32_t e, std::uint32_t f, std::uint32_t g) {
    return (e & f) + (~e & g);
}

/// One round; `kw` is the round constant plus the message word. `ab` enters as (b ^ c) and leaves as
/// (a ^ b), which the next round needs: the majority of a, b, c is ((a ^ b) & (b ^ c)) ^ b. The caller
/// rotates the names of the variables instead of their values.
template <auto choice>
TMAPROBE_INLINE void round(std::uint32_t a, std::uint32_t b, std::uint32_t& d, std::uint32_t e,
                           std::uint32_t f, std::uint32_t g, std::uint32_t& h, std::uint32_t kw,
                           std::uint32_t& ab) {
    h += kw + choice(e, f, g) + big_sigma1(e);
    d += h;
    const std::uint32_t a_xor_b = a ^ b;
    h += big_sigma0(a) + ((a_xor_b & ab) ^ b);
    ab = a_xor_b;
}

}  // namespace tmaprobe::kernels::sha256
