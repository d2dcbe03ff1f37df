#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/formats.h"

namespace tmaprobe::report {

/// What the HTML page draws, decided here so that the page only draws: texts are clean, numbers are
/// rounded to six digits, a sweep's runs are folded into curves, and what many metrics share is said once.
nlohmann::json page_view(const Records& records);

}  // namespace tmaprobe::report
