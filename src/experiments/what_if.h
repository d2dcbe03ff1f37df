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
std::vector<std::vector<record::Change>> standard_questions();

/// Runs the workload once, unless a trace is given, and asks its trace. Errors: those of run() and model::what_if().
Result<record::Record> what_if(const RunRequest& request, const WhatIfRequest& what, const machine::Host& host,
                               const machine::Topology& topology, const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
