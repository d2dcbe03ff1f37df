#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/workload.h"
#include "model/core/simulate.h"
#include "model/mapping.h"
#include "model/model.h"
#include "model/modelled_cpu.h"
#include "model/window_simulator.h"
#include "record/record.h"
#include "record/sampling.h"
#include "trace/tracer.h"

namespace tmaprobe::model {

/// One window as it was simulated, unweighted.
struct WindowSummary {
    double cycles = 0, instructions = 0;
    double native_ns = 0;  ///< of the workload's run that it stands for
    double weight = 1;     ///< in the sums
};

/// What the tree of one region is made of.
struct RegionSum {
    Facts facts;  ///< none: it has no tree
    std::vector<FactVariation> variations;
};

/// Regions of a command.
struct ModelledRegions {
    record::Regions known;
    std::vector<RegionSum> sums;  ///< as many as regions
};

/// A workload traced in windows and simulated on the target.
struct Modelled {
    Facts facts;  ///< sums over the windows; a window of a command weighs as the time it stands for
    std::vector<FactVariation> variations;
    std::vector<WindowSummary> windows;
    trace::Traced traced;                                  ///< sums
    std::size_t warmed = 0;                                ///< instructions executed to fill caches and predictors
    double native_ns = 0;                                  ///< time that the workload ran untraced meanwhile
    double modelled_ns = 0;                                ///< time that the windows take on the target
    double tracing_ns = 0, simulating_ns = 0;              ///< what it cost here
    std::size_t simulated_instructions = 0;                ///< of all simulations, variations included
    std::uint64_t elapsed_ns = 0;                          ///< of a command, from its start to its end, by the clock
    std::optional<counters::SlotAttribution> attribution;  ///< where it was asked for
    std::optional<record::Sampling> sampling;  ///< of a command or process: what was sampled, and what that cost it
    std::optional<record::ClockCheck> clock_check;  ///< where it was asked for
    double processor_ns = 0;  ///< of a command and the children that it waited for, or of processes meanwhile
    std::vector<record::Event> software_events;
    std::optional<ModelledRegions> regions;
    bool interrupted = false;  ///< a signal to us ended it before its time
    std::size_t further_tasks = 0;
    bool translated = false;                               ///< traced at near native speed, not step by step
    std::map<trace::EndedEarly, std::size_t> ended_early;  ///< windows, and warm-ups before them
    std::optional<int> exit_status;
    std::vector<record::Warning> warnings;
};

/// Runs a kernel in a traced process and simulates windows of it. Errors: unavailable when nothing could be traced or
/// the code is not of this architecture; those of TracedProcess and Core.
Result<Modelled> simulate_kernel(counters::Workload& workload, core::Core& core, trace::Decoder& decoder,
                                 const ModelledCpu& cpu, const ModelOptions& options);

}  // namespace tmaprobe::model
