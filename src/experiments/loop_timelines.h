#pragma once

#include <vector>

#include "counters/slot_attribution.h"
#include "experiments/code_points.h"
#include "record/where.h"

namespace tmaprobe::experiments {

/// Gives the instructions of the windows' loops their numbers: before they are located.
void number_loop_steps(const counters::SlotAttribution& attribution, CodePoints& points);

/// One time around each of the loops that take most, the hottest first. `shares`: of all slots, by number of the
/// instruction.
std::vector<record::LoopTimeline> loop_timelines(const counters::SlotAttribution& attribution, const CodePoints& points,
                                                 const std::vector<double>& shares);

}  // namespace tmaprobe::experiments
