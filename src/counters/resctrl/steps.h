#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "counters/resctrl/info.h"

namespace tmaprobe::counters::resctrl {

/// One step of an allocation sweep.
struct KeeperStep {
    std::string name;  ///< "l3=0x3 (2 of 11 bits)", "mb=20 (percent)"
    Limit limit;
    int value = 0;     ///< bits of the bitmap, or the cap
    std::string unit;  ///< "bits", "percent", "MBps", or "units" of the hardware
    int of = 0;        ///< all of it, in that unit; 0: no upper end
};

/// Growing shares of one control ("l3" or "mb"), the least that the hardware takes first and all of it last.
/// "l3": bitmaps side by side from the lowest bit up, at most 12 of them. "mb": at most 10 caps; evenly where
/// the unit is percent, else each a constant factor above the one before, because absolute units reach far
/// beyond what one core can move (from 1000 to 64000 MBps where the kernel names no upper end).
/// Errors: bad_usage for another control; unavailable for one that this hardware lacks.
Result<std::vector<KeeperStep>> steps_of(const Info& info, const std::string& control);

}  // namespace tmaprobe::counters::resctrl
