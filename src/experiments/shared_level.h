#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "machine/host.h"
#include "memory/pages.h"

namespace tmaprobe::experiments {

/// The third level of a cache that others fill, too, with low and high.
struct SharedLevel {
    /// Bytes that it and the second level hold of a block that is read again and again, so fast that others hardly come
    /// between.
    double held = 0, held_low = 0, held_high = 0;
    double beyond_ns = 0;  ///< a load of what they do not hold takes longer
    /// How long half of that may lie idle before others displace it, one reading after another, at least one:
    /// events::CacheGeometry::others_fill_ns.
    std::vector<double> others_fill_ns;
};

struct SharedLevelRequest {
    std::uint64_t second_level = 0, both_levels = 0;  ///< bytes, by CPUID
    std::uint64_t held = 0;                           ///< bytes that are held for certain, beyond the second level
    memory::PageMode pages;
    double beyond = 0;  ///< times what a load of those takes, where lines come from memory
    std::function<bool()> interrupted;
};

/// Reads blocks, larger and larger, until they are not held; and one of half that size after longer and longer waits.
/// Lines are read as many at a time as the kernel can, so that misses slow them least. In some 0.5 s. Nothing: half may
/// lie idle for 32 ms and longer, or not for 0.25 ms, each of three times. Errors: the kernel's; interrupted.
Result<std::optional<SharedLevel>> measure_shared_level(const SharedLevelRequest& request, const machine::Host& host);

/// SharedLevel::others_fill_ns once more, of a level of which the rest is known: in some 0.1 s.
Result<std::optional<double>> measure_others_fill(const SharedLevelRequest& request, double held, double beyond_ns,
                                                  const machine::Host& host);

}  // namespace tmaprobe::experiments
