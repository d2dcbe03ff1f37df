#pragma once

#include <string>
#include <vector>

#include "experiments/progress.h"
#include "experiments/run.h"

namespace tmaprobe::experiments {

/// What `tmaprobe gate` measures.
struct GateRequest {
    std::vector<std::string> command;
    std::string target;      ///< empty: the host's CPU
    std::string label;       ///< what the user calls the state of the program
    int layouts = 4;         ///< of memory
    std::uint64_t seed = 1;  ///< of layouts and windows
    int repetitions = 3;     ///< by the clock, at most
    RegionRequest regions;   ///< that are judged by themselves, too
    events::Library library;
    std::string command_line;
};

/// What costs on the request's target depend on besides the program (record::Gate::model). Errors: where it cannot be
/// modelled.
Result<std::string> gate_model(const GateRequest& request, const machine::Host& host,
                               const machine::Topology& topology);

/// Runs the command by itself (its output is its own), and then twice under the tracer, without input and output: what
/// it costs on the target, by function and line. A command that fails is run once, and its record has its status and no
/// cost (Record::extra.exit_status). Errors: unavailable where it cannot be started, or not be modelled.
Result<record::Record> gate(const GateRequest& request, const machine::Host& host, const machine::Topology& topology,
                            const OnProgress& on_progress);

}  // namespace tmaprobe::experiments
