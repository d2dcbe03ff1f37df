#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/kinds_of_moments.h"
#include "model/simulation.h"
#include "model/window_simulator.h"

namespace tmaprobe::model {

/// The page sizes that the user wants to be assumed, if any. Errors: bad_usage.
Result<std::optional<trace::PageMap>> assumed_pages(const ModelOptions& options);

/// How many moments that stand for the same time each would say as much of the whole.
double like_so_many_moments(const std::vector<WindowFacts>& windows);

/// Adds the windows up, as facts and as variations. `weighted`: each weighs as the time that it stands for.
/// `looked_at`: what the shares of their kinds are known by.
void sum_up(std::vector<WindowFacts>& windows, bool weighted, const ModelledCpu& cpu, Modelled& modelled,
            const LookedAt& looked_at = {});

/// Which instructions the slots of the windows are put down to; takes that out of the windows, which are summed up.
counters::SlotAttribution attribution_of(std::vector<WindowFacts>& windows, bool weighted, const ModelledCpu& cpu,
                                         const Modelled& modelled);

/// Says that the trace could not be kept, where there is a problem.
void add_trace_warning(const std::string& problem, Modelled& modelled);

/// What is wrong with the windows, if anything.
void add_model_warnings(const std::map<std::string, std::size_t>& known_wrong, bool pages_partly_known,
                        Modelled& modelled);

}  // namespace tmaprobe::model
