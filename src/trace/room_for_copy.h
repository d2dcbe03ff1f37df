#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "trace/snapshot.h"

namespace tmaprobe::trace {

/// Whether a copy could take memory or process numbers that the process itself may need: then none is made. A process
/// of `resident_bytes` may have to copy that much of its memory while a copy of it exists.
std::optional<Missed> lacks_room(pid_t process, std::uint64_t resident_bytes);

}  // namespace tmaprobe::trace
