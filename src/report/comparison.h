#pragma once

#include <string>
#include <vector>

#include "record/comparison.h"
#include "report/terminal.h"

namespace tmaprobe::report {

/// Comparisons as text: one block each, or one line each when there are many. Verbose: every metric, else the tree's
/// two top levels and translation.
std::string render_comparisons(const std::vector<record::Comparison>& comparisons, const TerminalStyle& style);

/// A metric's row of a table, under this name: before, after, change, and what the change is judged to be.
std::vector<std::string> compared_cells(const record::ComparedMetric& metric, const std::string& name);

/// One row for each time and each metric of each comparison.
std::string comparisons_csv(const std::vector<record::Comparison>& comparisons);

/// A section with a table for each, for a pull request or a wiki.
std::string comparisons_markdown(const std::vector<record::Comparison>& comparisons);

}  // namespace tmaprobe::report
