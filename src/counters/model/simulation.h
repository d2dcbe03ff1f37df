#pragma once

#include <optional>
#include <vector>

#include "counters/model/core/simulate.h"
#include "counters/model/geometry.h"
#include "counters/model/held.h"
#include "counters/model/mapping.h"
#include "counters/model/model.h"
#include "counters/model/tracer.h"
#include "counters/workload.h"
#include "record/record.h"

namespace tmaprobe::counters::model {

/// What one thing that is not known may change, over all windows.
struct FactVariation {
    const char* what = "";  ///< "window", "window left out", "no prefetchers", "memory latency"
    Facts facts;
};

/// One window as it was simulated, unweighted.
struct WindowSummary {
    double cycles = 0, instructions = 0;
    double native_ns = 0;  ///< of the workload's run that it stands for
};

/// A workload traced in windows and simulated on the target.
struct Modelled {
    Facts facts;                  ///< sums over the windows; a window of a command weighs as the time it stands for
    std::vector<FactVariation> variations;
    std::vector<WindowSummary> windows;
    Traced traced;                ///< sums
    std::size_t warmed = 0;       ///< instructions executed to fill caches and predictors
    double native_ns = 0;         ///< time that the workload ran untraced meanwhile
    double modelled_ns = 0;       ///< time that the windows take on the target
    double tracing_ns = 0, simulating_ns = 0;  ///< what it cost here
    std::size_t simulated_instructions = 0;    ///< of all simulations, variations included
    std::uint64_t elapsed_ns = 0;  ///< of a command, from its start to its end, by the clock
    Added added;                   ///< what of that the tracer added
    double processor_ns = 0;       ///< of a command and the children that it waited for
    bool interrupted = false;      ///< a signal to us ended it before its time
    std::size_t further_tasks = 0;
    bool translated = false;      ///< traced at near native speed, not step by step
    std::optional<int> exit_status;
    std::vector<record::Warning> warnings;
};

/// Runs the workload in a traced process and simulates windows of it. Errors: unavailable when nothing could
/// be traced or the code is not of this architecture; those of TracedProcess and Core.
Result<Modelled> simulate_workload(Workload& workload, std::uint64_t iterations, core::Core& core, Decoder& decoder,
                                   const Geometry& geometry, const Options& options);

}  // namespace tmaprobe::counters::model
