#pragma once

#include <string>
#include <vector>

#include "experiments/run.h"
#include "model/what_if.h"

namespace tmaprobe::experiments {

/// What to ask, and of what.
struct WhatIfRequest {
    model::WhatIfQuestions questions;  ///< without any: the standard ones
    std::string trace;                 ///< a saved trace; empty: the workload is run, and its trace asked
};

/// The changes that are asked about where nothing else is named, each by itself.
std::vector<model::WhatIfQuestion> standard_questions();

/// Runs the workload once, unless a trace is given, and asks its trace. Errors: those of run() and model::what_if().
Result<record::Record> what_if(const RunRequest& request, const WhatIfRequest& what, const machine::Host& host,
                               const machine::Topology& topology, const OnProgress& on_progress);

/// Runs it as run() does, and where code takes the slots, says of the lines that take most what would be won if each
/// took its slots and nothing more (CodePlace::if_it_never_waited). Errors: those of run(), and bad_usage for several
/// page modes.
Result<record::Record> where_with_gains(const RunRequest& request, const machine::Host& host,
                                        const machine::Topology& topology, const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
