#pragma once

#include <cstdint>
#include <vector>

#include "machine/host.h"
#include "record/record.h"

namespace tmaprobe::judge {

/// Sizes at which a random walk over a block is predicted to slow down on this host when the TLB holds
/// pages of `page_bytes`: the data caches as one core sees them, and the reach of each data TLB level
/// (entries x page size, over all structures of that level). Sorted by size; kind "predicted", ratio 1
/// (how much slower is not predicted).
std::vector<record::Knee> predicted_knees(const machine::Host& host, std::uint64_t page_bytes);

}  // namespace tmaprobe::judge
