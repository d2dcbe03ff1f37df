#pragma once

#include <cstdint>
#include <functional>

#include "machine/host.h"

namespace tmaprobe::experiments {

/// Bytes that second and third level hold together here, where a host may give a virtual machine but a part of the
/// third: as measured within the last hour and kept in the user's cache folder, else measured now by the clock and
/// kept: on a thread of its own, with up to 192 MiB of memory. 0: all that they have, or it cannot be told. `host`: as
/// calibrate_memory() has it.
std::uint64_t held_by_caches(const machine::Host& host, const std::function<bool()>& interrupted);

}  // namespace tmaprobe::experiments
