#pragma once

#include <memory>
#include <optional>
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
    std::vector<SourceChoice> sources;      ///< perf, model or none; two for perf_and_model
    std::string why;                        ///< one line for the report's first lines
    std::string hint;                       ///< what would give counters, or a model; may be empty
    bool asked_for = false;                 ///< the user named the source
    bool tree_is_optional = false;          ///< nobody asked for one: what was timed is worth having without it
    std::optional<SourceChoice> instead{};  ///< what a kernel goes on with where the decided one fails on the way

    bool counts() const { return sources.front() == SourceChoice::perf; }
    bool only_models() const { return sources == std::vector{SourceChoice::model}; }
    bool has_none() const { return sources.front() == SourceChoice::none; }
};

/// What `--source` means on this host for this target. Errors: unavailable or bad_usage when the source
/// that was named cannot serve (no PMU; a target that is not this machine's CPU).
Result<Decision> decide_source(const CountingRequest& request, const machine::Host& host, bool target_is_host);

struct Setup;

/// Builds one of the decided sources; `setup` has a table. Errors: those of the source.
Result<std::unique_ptr<counters::CounterSource>> make_source(SourceChoice choice, const CountingRequest& request,
                                                             const Setup& setup);

}  // namespace tmaprobe::experiments
