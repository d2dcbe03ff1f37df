#pragma once

#include <string>
#include <vector>

#include "model/kinds_of_moments.h"
#include "model/sampled_windows.h"
#include "model/simulation.h"
#include "process/region_page.h"

namespace tmaprobe::model {

/// What is known of the regions of a command when it is over.
struct RegionNames {
    std::vector<std::string> marked;            ///< by number
    std::vector<process::RegionCounts> counts;  ///< of the marks
    std::vector<std::string> functions;         ///< numbers from trace::first_function_region on
    pid_t command = 0;                          ///< what is open in it was open to its end
    std::uint64_t too_many = 0, too_deep = 0, no_room_for = 0;
};

/// The windows' instructions shared out over the regions that they were in, each with the facts of its own tree.
ModelledRegions sum_up_regions(const RegionNames& names, const SampledWindows& windows, const ModelledCpu& cpu,
                               const LookedAt& looked_at);

}  // namespace tmaprobe::model
