#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tmaprobe {

inline constexpr std::uint64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

/// Reads a size in bytes: digits with an optional binary suffix K, M, G or T (also KiB, MB, ...; all
/// powers of 1024). Errors: bad_usage for anything else, zero, or more than 2^63.
Result<std::uint64_t> parse_size(std::string_view text);

/// The shortest exact form with a binary suffix: 16384 -> "16K", 1500 -> "1500".
std::string format_size(std::uint64_t bytes);

/// A page size as page modes are named: "4k", "2m", "1g".
std::string format_page_size(std::uint64_t page_bytes);

/// Bytes per second in decimal units with three digits: 2.04e9 -> "2.04 GB/s".
std::string format_rate(double bytes_per_second);

/// A duration with three digits and a fitting unit: 1.3e-9 s given as ns -> "1.30 ns".
std::string format_ns(double nanoseconds);

}  // namespace tmaprobe
