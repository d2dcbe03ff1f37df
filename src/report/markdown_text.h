#pragma once

#include <string>
#include <vector>

namespace tmaprobe::report {

/// Text that Markdown and the HTML inside it take as it is.
std::string markdown_text(const std::string& text);

/// Names in code style, where underscores need no escape; what could end that style stays plain text.
std::string markdown_code(const std::string& text);

/// A row of a table from cells that are Markdown already.
std::string markdown_row(const std::vector<std::string>& cells);

/// The first row, with the line below it: the first column to the left, the others to the right.
std::string markdown_heading(const std::vector<std::string>& cells);

}  // namespace tmaprobe::report
