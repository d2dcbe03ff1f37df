#pragma once

#include <string>
#include <vector>

#include "record/record.h"
#include "report/terminal.h"

namespace tmaprobe::report {

/// How the intervals of a run are written while it is measured.
enum class RowForm { table, csv, json_lines };

/// Rows of intervals, each complete by itself, so that it can be written at once.
class IntervalRows {
  public:
    IntervalRows(RowForm form, const TerminalStyle& style) : form_(form), style_(style) {}

    /// What is to be written for one interval, with line ends: level 1 of the tree and further metrics, of `events`
    /// those that `wanted` names, or all where there are no metrics. A table has one row each, below a heading that
    /// comes again from time to time; where it is too wide, a line for each value.
    std::string row(double at_seconds, const std::vector<record::Metric>& metrics,
                    const std::vector<record::Event>& events, const std::vector<std::string>& wanted);

  private:
    struct Cell {
        std::string name, text, unit, status;
        double value = 0;
        bool known = false;
    };
    std::string table_row(double at_seconds, const std::vector<Cell>& cells);

    RowForm form_;
    TerminalStyle style_;
    std::size_t rows_ = 0;
};

}  // namespace tmaprobe::report
