#pragma once

#include <string>

namespace tmaprobe::report {

/// What write_markdown wrote, as HTML: headings, paragraphs, tables, lists and quotes. Texts of records are escaped
/// there already, and stay so.
std::string markdown_html(const std::string& markdown);

}  // namespace tmaprobe::report
