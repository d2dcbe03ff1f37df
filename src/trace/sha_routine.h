#pragma once

// Nothing of the library that needs vector registers: the routine is compiled without them.
#include <cstddef>
#include <cstdint>

namespace tmaprobe::trace {

/// What one of the SHA-256 instructions works on, each a vector register, lowest word first.
struct ShaOperands {
    std::uint32_t destination[4], source[4];
    std::uint32_t keyed[4];  ///< xmm0, which sha256rnds2 reads as well
};

#if defined(__x86_64__)

/// The third byte of their encodings, 0F 38 xx.
inline constexpr std::uint8_t sha256_rounds = 0xcb, sha256_schedule_first = 0xcc, sha256_schedule_second = 0xcd;

/// sha256rnds2, sha256msg1 or sha256msg2 in plain integer arithmetic; the result is in `destination`. It touches
/// nothing but its operands, its stack and general registers.
extern "C" void tmaprobe_sha_in_software(ShaOperands* operands, std::uint64_t opcode);

/// The machine code of tmaprobe_sha_in_software(), which runs wherever it is copied to.
struct MachineCode {
    const std::uint8_t* begin = nullptr;
    std::size_t size = 0;
};
MachineCode sha_routine();

#endif

}  // namespace tmaprobe::trace
