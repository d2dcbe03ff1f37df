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

/// Gives the third level what this machine was found to have of it, by what it and the second hold together. False,
/// and all as it was: that is all that they have, or hardly more than the second has.
bool hold_together(std::uint64_t found_bytes, events::CpuGeometry& cpu);

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
