#pragma once

#include <string>
#include <string_view>

namespace tmaprobe::metrics {

/// Whether the pattern of a mapfile or of strcmp_cpuid_str means the CPU with this id, by perf's rules.
///
/// A MIDR pattern ("0x00000000410fd490") fits the same implementer, architecture and part when the CPU's
/// variant and revision are not older than the pattern's. Any other pattern is an extended regular
/// expression that must cover the whole id, of which the pattern may leave out the stepping.
bool cpuid_matches(std::string_view pattern, std::string_view cpu_id);

/// Whether the text is a pattern at all: a MIDR, or an expression that compiles.
bool is_cpuid_pattern(const std::string& text);

/// Whether the text is an Arm MIDR: "0x" and hexadecimal digits only.
bool is_midr(std::string_view text);

}  // namespace tmaprobe::metrics
