#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "report/text.h"

namespace tmaprobe::report {

/// Joins cells to a line; quotes where RFC 4180 asks for it.
class CsvRow {
  public:
    CsvRow& text(const std::string& given) {
        std::string cell = clean(given);
        if (!cell.empty() && std::string("=+-@").find(cell[0]) != std::string::npos) cell.insert(0, "'");
        if (cell.find_first_of(",\"") != std::string::npos) {
            std::string quoted;
            for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
            cell = '"' + quoted + '"';
        }
        return add(cell);
    }
    CsvRow& number(double value) { return add(std::isfinite(value) ? fmt::format("{}", value) : ""); }
    CsvRow& integer(std::int64_t value) { return add(fmt::format("{}", value)); }
    CsvRow& empty() { return add(""); }
    const std::string& line() const { return line_; }

  private:
    CsvRow& add(const std::string& cell) {
        if (!first_) line_ += ',';
        first_ = false;
        line_ += cell;
        return *this;
    }
    std::string line_;
    bool first_ = true;
};

}  // namespace tmaprobe::report
