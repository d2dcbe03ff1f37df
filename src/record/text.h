#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace tmaprobe::record {

/// valid_utf8() of every key and string of a JSON value. Numbers that JSON cannot hold (NaN, infinity)
/// become null.
nlohmann::json valid_json(const nlohmann::json& value);

/// The number as JSON, null when it is NaN or infinite.
nlohmann::json finite(double value);

}  // namespace tmaprobe::record
