#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/source.h"
#include "events/table.h"
#include "experiments/run.h"
#include "machine/host.h"

namespace tmaprobe::experiments {

/// Which sources give the tree, and why these.
struct Decision {
    std::vector<SourceChoice> sources;  ///< perf, model or none; two for perf_and_model
    std::string why;                    ///< one line for the report's first lines
    std::string hint;                   ///< what would give counters, or a model; may be empty
};

/// What `--source` means on this host for this target. Errors: unavailable or bad_usage when the source
/// that was named cannot serve (no PMU; a target that is not this machine's CPU).
Result<Decision> decide_source(const RunRequest& request, const machine::Host& host, bool target_is_host);

/// Builds one of the decided sources. Errors: those of the source.
Result<std::unique_ptr<counters::CounterSource>> make_source(SourceChoice choice, const RunRequest& request,
                                                             const events::Table& table, const machine::Host& host);

}  // namespace tmaprobe::experiments
