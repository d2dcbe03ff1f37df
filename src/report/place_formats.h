#pragma once

// Words that all formats of places share.

#include <string>

#include "record/where.h"

namespace tmaprobe::report {

inline constexpr const char* further_places = "further places";

/// Without its folder.
std::string module_text(const std::string& module);
/// Its name, or where it begins.
std::string function_of(const record::CodePlace& place);

}  // namespace tmaprobe::report
