#pragma once

#include <string>

#include "report/formats.h"

namespace tmaprobe::report {

/// What the HTML page draws as JSON that may stand in a script element, decided here so that the page only draws: texts
/// are clean, numbers are rounded to six digits, a sweep's runs are folded into curves, and what many metrics share is
/// said once.
std::string page_view(const Records& records);

}  // namespace tmaprobe::report
