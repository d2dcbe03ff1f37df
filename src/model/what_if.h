#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/table.h"
#include "record/calibration.h"
#include "record/what_if.h"

namespace tmaprobe::model {

/// What to ask of a trace.
struct WhatIfQuestions {
    std::vector<std::vector<record::Change>> answers;  ///< each a list of changes at once
    bool shares = false;                               ///< how the main causes share what removing them all would win
    bool targets = false;                              ///< how fast the trace is on every CPU of its architecture
};

/// On which CPU a trace is simulated as it is, and with changes.
struct WhatIfCpu {
    const events::Library& library;
    const events::Table& table;
    std::optional<record::Calibration> calibration;
};

/// Simulates a saved trace on a CPU as it is and with the changes, on so many threads of this process. The answers come
/// in the order of the questions; speeds of other CPUs are those of the tables alone. Errors: bad_input for a file that
/// is no trace, is damaged or of another architecture; unavailable where the model does not cover the CPU, or this
/// build has no model.
Result<record::WhatIf> what_if(const std::string& trace_file, const WhatIfCpu& cpu, const WhatIfQuestions& questions,
                               unsigned threads);

}  // namespace tmaprobe::model
