#pragma once

#include <vector>

#include "events/core_error.h"
#include "model/window_simulator.h"
#include "record/what_if.h"

namespace tmaprobe::model {

/// A moment as it is and as it would be.
struct ComparedMoment {
    double stands_for = 1;  ///< of the whole: its time, or where all are alike its cycles
    WindowFacts before, after;
};

/// How many times as fast the whole would be: the sum of what the moments stand for, over the same with each made
/// shorter by its cycles after over before. The bounds span what the model does not know (each variation, the same
/// before and after), how far off the core may be that runs both, and, where there are several moments, which of them
/// were met: means of as many drawn anew, 40 times, each of another core. Moments without cycles are left out; of none,
/// it is 1.
record::SpeedUp speed_up_of(const std::vector<ComparedMoment>& moments, const events::CoreError& core);

/// The same from one core to another; each is off by itself.
record::SpeedUp speed_up_of(const std::vector<ComparedMoment>& moments, const events::CoreError& core,
                            const events::CoreError& other_core);

}  // namespace tmaprobe::model
