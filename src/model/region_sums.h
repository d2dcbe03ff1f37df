#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/kinds_of_moments.h"
#include "model/region_entries.h"
#include "model/simulation.h"
#include "record/regions.h"
#include "trace/region_watch.h"

namespace tmaprobe::model {

/// What is known of the regions of a command when it is over.
struct RegionNames {
    record::Regions marked;              ///< by number
    std::vector<std::string> functions;  ///< numbers from trace::first_function_region on
};

struct ShareOfTime {
    double all = 0, own = 0;  ///< own: in no region inside
    double high = 0;          ///< of all
};

/// What the model has of the regions of a command.
struct RegionEvidence {
    const std::vector<WindowFacts>& windows;  ///< of the whole command
    const std::vector<EntryWindow>& entries;
    const std::vector<std::vector<std::uint32_t>>& paths;  ///< by the keys of WindowFacts::regions
    std::vector<trace::SeenEntries> seen;
    /// The share of the command's time that a region has where no window of the whole command met it, by its number.
    std::function<ShareOfTime(std::uint32_t region)> share_otherwise;
};

/// The windows' instructions shared out over the regions that they were in, and what is known of their entries: each
/// region with the facts of its own tree.
ModelledRegions sum_up_regions(const RegionNames& names, const RegionEvidence& evidence, const ModelledCpu& cpu,
                               const LookedAt& looked_at);

/// What windows of the whole command have of a region.
SeenInRegion seen_in_region(const std::vector<WindowFacts>& windows,
                            const std::vector<std::vector<std::uint32_t>>& paths, std::uint32_t region);

}  // namespace tmaprobe::model
