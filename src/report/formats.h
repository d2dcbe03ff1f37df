#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"
#include "report/where.h"

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

// Of records that know which code takes the slots. Numbers are slots, whole ones where the format has no others: what
// rounding takes from one place it gives to the next.

/// "program;function;inlined;file.c:7;cause 1234", a line each, for flamegraph.pl and its kind. By data:
/// stacks_of_data().
std::string write_folded(const Records& records, const WhereView& view = {});
/// For speedscope.app: one profile a run; the same.
std::string write_speedscope(const Records& records, const WhereView& view = {});
/// For KCachegrind and callgrind_annotate: instructions and lines, and calls; slots, and slots by cause.
std::string write_callgrind(const Records& records, const WhereView& view = {});
/// For pprof (not compressed): instructions with what is inlined there; slots, and slots by cause.
std::string write_pprof(const Records& records, const WhereView& view = {});

/// One self-contained page that loads nothing from anywhere. `view`: sources of the code that it shows.
std::string write_html(const Records& records, const WhereView& view = {});
/// The part of it that says which code takes the slots; empty where no record knows.
std::string where_sections(const Records& records, const WhereView& view);

}  // namespace tmaprobe::report
