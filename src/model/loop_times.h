#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/slot_attribution.h"
#include "model/core/simulate.h"
#include "model/own_addresses.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// The loop that the hottest instruction of a window is in, which is the code between two executions of it: one time
/// around, of those that went the same way most often the one with the median of cycles, and the chain of results that
/// its hottest instruction waits for. Nothing where the hottest instructions were hardly executed again, or too much
/// lies in between. `lead_in`: steps that are left aside; `slots`: of each instruction.
std::optional<counters::LoopTimes> loop_times(const trace::Trace& trace, std::size_t lead_in,
                                              const std::vector<std::uint64_t>& slots, const core::Execution& execution,
                                              const std::vector<std::string>& port_names,
                                              const OwnAddresses& addresses = {});

}  // namespace tmaprobe::model
