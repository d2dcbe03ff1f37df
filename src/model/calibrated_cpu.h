#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/calibration_facts.h"
#include "events/cpu_geometry.h"
#include "model/this_machine.h"
#include "record/calibration.h"

namespace tmaprobe::model {

/// The tables' figure for a fact of the geometry, in the fact's unit; nothing for the other facts.
std::optional<double> table_figure(const std::string& fact, const events::CpuGeometry& cpu);

/// Puts what the clock found in the place of the tables' figures. Facts with a reason against it are left out, and so
/// are those that say nothing of one figure of the tables alone. Returns the names of those that were put.
std::vector<std::string> calibrate(const record::Calibration& found, const std::vector<events::CalibrationFact>& known,
                                   events::CpuGeometry& cpu);

ThirdLevelFound third_level_found(const std::vector<record::CalibratedFact>& facts);

/// Gives the third level what this machine was found to have of it: where it is known to keep what was used last, and
/// how others fill it was found, what it would hold without these; else what it was found to hold. Returns what it and
/// the second level hold together then. Nothing, and all as it was: it was not found, or is all that they have, or
/// hardly more than the second has.
std::optional<std::uint64_t> take_third_level(const ThirdLevelFound& found, events::CpuGeometry& cpu);

/// Page walks as in a virtual machine, where each step in its tables takes a walk of the host's: what was measured of
/// such; as they are where nothing was.
void walk_two_tables(events::CpuGeometry& cpu);

/// TranslationGeometry::large_page_walk of this machine, by its calibration if it has one. 0: its large pages are
/// whole, or it is not known.
double large_page_walk(const ThisMachine& machine);

/// The part that the CPUs of a virtual machine are of those that share the third level: hosts sell them all. 1: the
/// machine has all of it.
double part_of_third_level(const ThisMachine& machine, const events::CpuGeometry& cpu);

/// Gives the third level this part of what it has. Whether that is a part of it, and more than nothing beside the
/// second one.
bool share_third_level(double part, events::CpuGeometry& cpu);

}  // namespace tmaprobe::model
