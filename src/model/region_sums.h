#pragma once

#include <string>
#include <vector>

#include "model/kinds_of_moments.h"
#include "model/sampled_windows.h"
#include "model/simulation.h"
#include "record/regions.h"

namespace tmaprobe::model {

/// What is known of the regions of a command when it is over.
struct RegionNames {
    record::Regions marked;              ///< by number
    std::vector<std::string> functions;  ///< numbers from trace::first_function_region on
};

/// The windows' instructions shared out over the regions that they were in, each with the facts of its own tree.
ModelledRegions sum_up_regions(const RegionNames& names, const SampledWindows& windows, const ModelledCpu& cpu,
                               const LookedAt& looked_at);

}  // namespace tmaprobe::model
