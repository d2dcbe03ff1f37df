#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tmaprobe::events {

/// Parses JSON. Errors: bad_input with label, line and column; also for bytes that are no UTF-8.
Result<nlohmann::json> parse_json(std::string_view label, std::string_view text);

}  // namespace tmaprobe::events
