#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/calibration.h"

namespace tmaprobe::report {

/// One line of the table: a fact beside what stood in its place before.
struct CalibrationLine {
    std::string what;
    record::CalibratedFact found;
    std::optional<double> table;     ///< in the fact's unit; nothing: the tables have no such figure
    std::optional<double> modelled;  ///< by the model without calibration, of the same loop
    bool used = false;
};

/// The table as text, one fact a line, with the reasons for what is not used.
std::string calibration_table(const std::vector<CalibrationLine>& lines);

}  // namespace tmaprobe::report
