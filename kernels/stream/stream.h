#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"

namespace tmaprobe::kernels::stream {

/// What happens to the arrays; n bytes each, and what the program and the bus to memory move.
/// A line that is stored to is read first (write-allocate) unless the store is non-temporal.
enum class Operation {
    read,      ///< a: n; bus n
    write,     ///< a = s: n; bus 2n
    nt_write,  ///< a = s past the caches: n; bus n
    copy,      ///< a = b: 2n; bus 3n
    nt_copy,   ///< the same past the caches: 2n; bus 2n
    triad,     ///< a = b + s * c in double precision: 3n; bus 4n
    nt_triad,  ///< the same past the caches: 3n; bus 3n
};

/// Software prefetch of each line that is read (that is written, for write), some bytes ahead. `w`
/// fetches the line that is written, to own it.
enum class Hint { none, t0, t1, t2, nta, w };

/// One thread's share of the arrays, each a multiple of chunk_bytes at a multiple of 64.
struct Share {
    std::byte* a = nullptr;
    std::byte* b = nullptr;
    std::byte* c = nullptr;
    std::uint64_t bytes = 0;     ///< of each array
    std::uint64_t distance = 0;  ///< of the prefetches
};

/// Bytes that one turn of every loop takes of each array.
inline constexpr std::uint64_t chunk_bytes = 256;

/// Goes over the share so many times.
using Pass = void (*)(const Share& share, std::uint64_t times);

/// The loops of one variant: nullptr for what it does not have. See passes.h.
Pass find_avx512(Operation operation, Hint hint);
Pass find_avx2(Operation operation, Hint hint);
Pass find_sse2(Operation operation, Hint hint);
Pass find_neon(Operation operation, Hint hint);
Pass find_scalar(Operation operation, Hint hint);

KernelDescriptor descriptor();

}  // namespace tmaprobe::kernels::stream
