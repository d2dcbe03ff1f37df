#pragma once

#include <string>
#include <vector>

#include "record/record.h"
#include "report/terminal.h"

namespace tmaprobe::report {

/// "slower by 2.31% ...": what a gate found, in one sentence; of a record with a gate.
std::string gate_sentence(const record::Gate& gate);

/// What a gate found: the verdict first, then what moved. A cost without a baseline is shown by itself.
std::string render_gate(const record::Record& record, const TerminalStyle& style);

/// The same as a section for a pull request.
std::string gate_markdown(const record::Record& record);

/// Workflow commands for GitHub: an error at each line that became slower where the verdict is that it is, else a
/// notice or a warning.
std::string gate_github(const record::Record& record);

/// A code quality report for GitLab: an array, empty where it is not slower.
std::string gate_gitlab(const record::Record& record);

/// A page that loads nothing: the Markdown's content, and the baseline's costs over time.
std::string gate_html(const record::Record& record);

}  // namespace tmaprobe::report
