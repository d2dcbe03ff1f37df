#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tmaprobe::kernels::sha256 {

/// The eight 32-bit words of the running hash, FIPS 180-4 section 5.3.3.
using State = std::array<std::uint32_t, 8>;
using Digest = std::array<std::uint8_t, 32>;

/// Folds `blocks` blocks of 64 bytes into the state. One of these per variant.
using Compress = void (*)(State& state, const std::uint8_t* data, std::size_t blocks);

/// Each runs only on a CPU that has the instructions named by its variant (see sha256.cpp).
/// A variant of another architecture is not defined in this build.
void compress_portable(State& state, const std::uint8_t* data, std::size_t blocks);
#if defined(__x86_64__)
void compress_shani(State& state, const std::uint8_t* data, std::size_t blocks);
void compress_avx2(State& state, const std::uint8_t* data, std::size_t blocks);
void compress_ssse3(State& state, const std::uint8_t* data, std::size_t blocks);
#elif defined(__aarch64__)
void compress_armv8(State& state, const std::uint8_t* data, std::size_t blocks);
#endif

/// The function of the named variant; nullptr when this architecture has none of that name.
Compress find_compress(const char* variant);

/// Hash of a whole message: its blocks, then the padding of FIPS 180-4 section 5.1.1.
Digest hash(Compress compress, std::span<const std::uint8_t> message);

/// Blocks that hash() folds for a message of so many bytes: the message, a 1 bit, its length in 8 bytes.
constexpr std::uint64_t blocks_of(std::uint64_t message_bytes) { return (message_bytes + 9 + 63) / 64; }

}  // namespace tmaprobe::kernels::sha256
