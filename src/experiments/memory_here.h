#pragma once

#include <functional>

#include "machine/host.h"
#include "model/this_machine.h"

namespace tmaprobe::experiments {

/// What a virtual machine has of its host's caches and pages, and cannot be told by it.
struct MemoryHere {
    model::ThirdLevelFound third_level;
    double large_page_walk = 0;  ///< of a walk in a small page, where large ones are split; 0: not, or not to be told
};

/// As measured within the last hour and kept in the user's cache folder, else measured now by the clock and kept: on a
/// thread of its own, with up to 192 MiB of memory. What others fill of the third level, which changes by the moment,
/// is read once more where it is kept, but for ten seconds after the last time. `host`: as calibrate_memory() has it.
MemoryHere memory_here(const machine::Host& host, const std::function<bool()>& interrupted);

}  // namespace tmaprobe::experiments
