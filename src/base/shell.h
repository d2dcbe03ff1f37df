#pragma once

#include <string>
#include <vector>

namespace tmaprobe {

/// Words as a POSIX shell reads them back: in single quotes where they need any.
std::string shell_quoted(const std::vector<std::string>& words);

/// The words of a line that shell_quoted() wrote.
std::vector<std::string> shell_words(const std::string& line);

}  // namespace tmaprobe
