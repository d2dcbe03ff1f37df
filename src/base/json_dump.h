#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tmaprobe {

/// The value as JSON: on one line, or indented by one blank with a line break at its end. What is no UTF-8 becomes
/// U+FFFD: texts come from files, kernels and users, and a writer that throws would lose the rest.
std::string dump_line(const nlohmann::json& value);
/// Other line breaks than the newline are escaped as well, for readers that end a line at any of them.
std::string dump_ascii_line(const nlohmann::json& value);
std::string dump_indented(const nlohmann::json& value);

}  // namespace tmaprobe
