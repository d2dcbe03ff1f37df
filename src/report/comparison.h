#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/terminal.h"

namespace tmaprobe::report {

/// Comparisons (an array of objects as record.extra["comparison"] holds them) as text: one block each, or
/// one line each when there are many. Verbose: every metric, else the tree's two top levels and translation.
std::string render_comparisons(const nlohmann::json& comparisons, const TerminalStyle& style);

}  // namespace tmaprobe::report
