#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counters/source.h"
#include "events/table.h"
#include "machine/host.h"
#include "model/region_wish.h"
#include "model/this_machine.h"
#include "trace/allocation_watch.h"

namespace tmaprobe::model {

/// Where what is simulated is kept, to be simulated again.
struct TraceWish {
    std::string file;                            ///< empty: nowhere
    std::string workload, cpu_id, architecture;  ///< for the trace's header
};

/// What the model may vary.
struct ModelOptions {
    std::string assume_pages;      ///< "" = the real page sizes of the traced addresses, else "4k", "2m", "1g"
    bool software_always = false;  ///< steps in software what it can, even where the processor could; for tests
    int windows = 3;               ///< spread over the run
    std::size_t window_instructions = 20000;
    int command_alone_ms = 0;      ///< a command runs so long by itself before its first window; 0: that is its start
    std::vector<pid_t> processes;  ///< that run already, to be sampled instead of a command
    double seconds = 0;            ///< for so long; 0: until they end, or a signal comes
    double effort = 1;             ///< how much more than usual samples and simulation may cost
    bool repeatable = false;       ///< a command is followed from its start, with windows at numbers of instructions
    bool attribute = false;        ///< say which instructions the slots are put down to (Sample::attribution)
    /// Which functions of an allocator a file has, to be watched by whoever follows a command from its start and
    /// attributes slots; empty: allocations are not looked at.
    trace::AllocationWatch::FunctionsOf allocator_functions;
    /// Measures the clock of the core that it is called on, in Hz (0: it cannot, or another uses the core too); empty
    /// where the target is not this machine.
    std::function<double()> core_clock_hz;
    ThisMachine machine;  ///< empty where the target is another
    TraceWish trace;
    RegionWish regions;
    std::string attribute_in;  ///< only what the slots of this region are put down to; empty: all

    /// What is mapped where is wanted with each window.
    bool keeps_mappings() const { return attribute || !trace.file.empty(); }
};

/// Whether this build can model at all (LLVM was there), and if not, how to get it.
bool built();
/// Errors: unavailable where it cannot, with what to do.
Result<> check_built();

/// Traces the workload and simulates the target CPU. Errors: unavailable when LLVM was not there at
/// build time, or the target has no core model (naming those that have).
Result<std::unique_ptr<counters::CounterSource>> make_source(const events::Library& library,
                                                             const events::Table& target, const machine::Host& host,
                                                             const ModelOptions& options);

}  // namespace tmaprobe::model
