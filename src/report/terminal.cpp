#include "report/terminal.h"

namespace tmaprobe::report {

std::string render_terminal(const record::Record&, const TerminalStyle&) { return {}; }

}  // namespace tmaprobe::report
