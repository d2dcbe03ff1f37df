#pragma once

#include "counters/slot_attribution.h"
#include "model/own_addresses.h"
#include "trace/trace.h"

namespace tmaprobe::model {

/// The runs that a window consists of, each once, by real address, where the trace has those of `addresses`. Where a
/// function goes on after a call is known once the call has returned; what was entered before the window goes on
/// nowhere.
counters::ExecutedRuns executed_runs(const trace::Trace& trace, const OwnAddresses& addresses = {});

}  // namespace tmaprobe::model
