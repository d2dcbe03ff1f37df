#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tmaprobe::report {

/// Text of a record made safe to show on a terminal: escape sequences, control characters, line ends and
/// characters that turn the direction of writing are removed, invalid UTF-8 is replaced. With `ascii`,
/// everything else that is not ASCII becomes '?'.
std::string clean(std::string_view text, bool ascii = false);

/// With its first letter as a capital.
std::string capitalised(std::string text);

/// For HTML, also in the value of an attribute.
std::string escaped_html(std::string_view text);

/// Columns that clean text takes on a terminal.
std::size_t width_of(std::string_view text);

/// Filled with spaces on the right, or on the left, up to `width` columns; never cut.
std::string pad_right(std::string text, std::size_t width);
std::string pad_left(std::string text, std::size_t width);

/// At most `width` columns: what is too long loses its middle to an ellipsis.
std::string shorten(const std::string& text, std::size_t width, bool ascii);

/// Words broken into lines of at most `width` columns; a longer word stands alone.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// A horizontal bar of at most `width` columns for a fraction of 0 to 1; what lies outside is cut, which
/// is why the number stands beside it.
std::string bar(double fraction, std::size_t width, bool ascii);

}  // namespace tmaprobe::report
