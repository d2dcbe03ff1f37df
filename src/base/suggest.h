#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tmaprobe {

/// "did you mean 'x'?" for the nearest candidate by edit distance, else "one of: a, b, c" when the
/// list is short, else empty. For an Error's hint.
std::string suggest(std::string_view given, const std::vector<std::string>& candidates);

}  // namespace tmaprobe
