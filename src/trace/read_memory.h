#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tmaprobe::trace {

/// Reads another process's memory; returns how many bytes it got, from the first on.
std::size_t read_memory(pid_t process, std::uint64_t address, void* to, std::size_t bytes);

}  // namespace tmaprobe::trace
