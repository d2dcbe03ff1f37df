#pragma once

namespace tmaprobe::cli {

/// Columns of what is written to: a terminal's own, else $COLUMNS, else 80. `descriptor` may be -1, for a file that is
/// not open yet. Never fewer than 40: narrower, a line wraps rather than a table loses what it says.
int columns_of(int descriptor);

/// Whether the locale's characters are UTF-8, by LC_ALL, LC_CTYPE and LANG, the first that is set; none: it is C.
bool utf8_locale();

/// Whether the terminal can neither colour nor redraw.
bool is_dumb_terminal();

}  // namespace tmaprobe::cli
