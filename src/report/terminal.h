#pragma once

#include <string>

#include "record/record.h"
#include "report/where.h"

namespace tmaprobe::report {

/// How the terminal wants it; decided by the command line from isatty, NO_COLOR, the locale and flags.
struct TerminalStyle {
    int width = 80;
    bool unicode = true;
    bool colour = false;
    bool verbose = false;  ///< events and formulas too
    WhereView where{};     ///< of a record that has the places
};

/// The record as text: source line, time, tree, a sentence, next steps, warnings.
std::string render_terminal(const record::Record& record, const TerminalStyle& style);

}  // namespace tmaprobe::report
