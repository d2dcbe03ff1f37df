#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/modelled_cpu.h"
#include "model/trace_file.h"
#include "model/what_if.h"
#include "model/window_simulator.h"
#include "record/what_if.h"

namespace tmaprobe::model {

/// A machine as some changes make it.
struct AlteredMachine {
    // What decides what is in caches and buffers before a window: machines that differ in it are warmed apart.
    ModelledCpu cpu;
    std::optional<std::uint64_t> page_bytes;  ///< of all memory; none: as it was
    std::optional<std::size_t> large_area;    ///< of MemoryAreas: the one that is in large pages
    std::vector<record::Change> warmed_with;  ///< the changes that went into these two
    // What does not:
    core::CoreChanges core;
    IdealMemory memory;
    bool predicts_all = false;
    bool varied = true;            ///< bounds are wanted, too
    bool tells_region = false;     ///< all alike: WindowFacts::regions has what is in TraceFile::in_region
    bool accesses = false;         ///< of the first machine, as it is: which data it waits for is wanted, too
    std::vector<CodeInFile> code;  ///< that changes of chosen code are about
};

/// `halved`: what a busy sibling takes half of, where it is asked for.
AlteredMachine altered(const ModelledCpu& cpu, const WhatIfQuestion& question,
                       const std::vector<events::SmtStructure>& halved = {});

/// Simulates all windows of a trace on each of these machines, which are warmed alike: those of the first one are what
/// the caches see. Returns the windows of each machine, in the order in which the trace has them.
/// Errors: bad_input for a trace of another architecture or a damaged one; those of make_core() and make_decoder().
Result<std::vector<std::vector<WindowFacts>>> simulate_trace(const TraceFile& trace,
                                                             const std::vector<AlteredMachine>& machines,
                                                             const std::string& architecture);

}  // namespace tmaprobe::model
