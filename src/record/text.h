#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tmaprobe::record {

/// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD. Command lines and file
/// names are bytes; JSON, HTML and OpenMetrics are not.
std::string valid_utf8(std::string_view text);

/// The same for every key and string of a JSON value. Numbers that JSON cannot hold (NaN, infinity)
/// become null.
nlohmann::json valid_json(const nlohmann::json& value);

/// The number as JSON, null when it is NaN or infinite.
nlohmann::json finite(double value);

}  // namespace tmaprobe::record
