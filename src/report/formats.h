#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace tmaprobe::report {

using Records = std::vector<record::Record>;

/// One row per metric, time and pair, with all keys repeated on each row (tidy data); the first line names
/// the columns. A text that a spreadsheet would take for a formula gets a leading apostrophe.
std::string write_csv(const Records& records);

/// Sections and tables for a pull request or a wiki.
std::string write_markdown(const Records& records);

/// OpenMetrics text, also read by node_exporter's textfile collector. Of several records with the same
/// labels the newest counts. docs/dashboards.md lists the families.
std::string write_openmetrics(const Records& records);

/// One self-contained page that loads nothing from anywhere.
std::string write_html(const Records& records);

}  // namespace tmaprobe::report
