#pragma once

#include <cstdint>

#include "model/core/descriptor.h"

namespace tmaprobe::model {

/// Of the smallest pages.
inline constexpr std::uint64_t lines_per_page = 4096 / core::line_bytes;

/// Which line of memory a program's line is, where pages of 4 KiB have frames: caches beyond the first level are
/// indexed by it. A line of 64 bytes keeps its place in its page. To which frame a page goes is by chance, the same
/// each time, and never that of another page; or not by chance, but in the order of the addresses. `line`: of the 43
/// bits that a MemorySystem's lines have. The answer has 44.
std::uint64_t line_in_frames(std::uint64_t line, bool by_chance);
/// The line that line_in_frames() made this of, either way.
std::uint64_t line_from_frames(std::uint64_t in_frames);

}  // namespace tmaprobe::model
