#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/cost_estimate.h"

namespace tmaprobe::model {

/// What a window cost, and what of it was in which regions.
struct SimulatedWindow {
    WindowCosts costs;
    std::map<std::uint32_t, WindowCosts> by_path;  ///< number of trace::RegionPaths; where regions are told apart
};

/// What a region cost in a whole run, with what it calls and with regions inside.
struct CostInRegion {
    double instructions = 0;  ///< executed; counted where all of their executions are in it
    double cycles = 0, standard_error = 0;
};

/// As estimate_cost(), of one region. Of an instruction that is executed outside of it, too, the share that the
/// windows have in it counts; what these differ by in that is part of the error, and its events are left to them.
/// `paths`: as trace::RegionPaths has them.
CostInRegion estimate_region(const std::map<std::uint64_t, double>& executions,
                             const std::vector<SimulatedWindow>& windows, const std::vector<SimulatedWindow>& awaited,
                             const std::vector<std::vector<std::uint32_t>>& paths, std::uint32_t region,
                             const CountedEvents& events = {});

}  // namespace tmaprobe::model
