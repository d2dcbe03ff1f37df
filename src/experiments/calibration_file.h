#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "experiments/run.h"
#include "machine/host.h"
#include "record/calibration.h"
#include "record/record.h"

namespace tmaprobe::experiments {

/// Where the calibration of this CPU is kept: in $XDG_CACHE_HOME/tmaprobe, or ~/.cache/tmaprobe; or a part of one that
/// has a name of its own. Empty when the user has no home.
std::filesystem::path calibration_path(const machine::Host& host, const std::string& what = "calibration");

/// UTC, as record::Calibration::measured has it: texts of later times are larger.
std::string measured_text(std::chrono::system_clock::time_point at);

/// Of this machine, now, without facts yet.
record::Calibration started_calibration(const machine::Host& host);

/// Writes it there or where the user wants it, folders included. Errors: system.
Result<> write_calibration(const record::Calibration& calibration, const std::filesystem::path& path);

/// What a run takes: the file that the user named, else the one of this CPU.
struct FoundCalibration {
    std::optional<record::Calibration> calibration;
    std::optional<record::Warning> warning;  ///< why the file of this CPU is not taken
};

/// Errors: for a file that the user named: bad_input for one that is none, is of another CPU or
/// cannot be read. The CPU's own file costs no run: what is wrong with it is a warning.
Result<FoundCalibration> find_calibration(const CalibrationChoice& choice, const machine::Host& host);

}  // namespace tmaprobe::experiments
