#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "machine/host.h"
#include "memory/pages.h"

namespace tmaprobe::experiments {

/// The third level of a cache that others fill, too, with low and high.
struct SharedLevel {
    /// Bytes that it and the second level hold of a block that is read again and again, so fast that others hardly come
    /// between.
    double held = 0, held_low = 0, held_high = 0;
    /// How long half of that may lie idle before others displace it: events::CacheGeometry::others_fill_ns.
    double others_fill_ns = 0, others_fill_low_ns = 0, others_fill_high_ns = 0;
};

struct SharedLevelRequest {
    std::uint64_t second_level = 0, both_levels = 0;  ///< bytes, by CPUID
    std::uint64_t held = 0;                           ///< bytes that are held for certain, beyond the second level
    memory::PageMode pages;
    double beyond = 0;  ///< times what a load of those takes, where lines come from memory
    std::function<bool()> interrupted;
};

/// Reads blocks, larger and larger, until they are not held; and one of half that size after longer and longer waits.
/// Lines are read as many at a time as the kernel can, so that misses slow them least. In some 0.3 s. Nothing: half may
/// lie idle for 32 ms and longer, or not for 0.25 ms. Errors: the kernel's; interrupted.
Result<std::optional<SharedLevel>> measure_shared_level(const SharedLevelRequest& request, const machine::Host& host);

}  // namespace tmaprobe::experiments
