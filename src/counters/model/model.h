#pragma once

#include <memory>
#include <string>

#include "counters/source.h"
#include "events/table.h"
#include "machine/host.h"

namespace tmaprobe::counters::model {

/// What the model may vary.
struct Options {
    std::string assume_pages;  ///< "" = the real page sizes of the traced addresses, else "4k", "2m", "1g"
    bool software_always = false;  ///< steps in software what it can, even where the processor could; for tests
    int windows = 3;               ///< spread over the run
    std::size_t window_instructions = 20000;
    int command_windows = 12;      ///< at most, of a command: ever further apart
    int command_alone_ms = 0;      ///< a command runs so long by itself before its first window; 0: that is its start
};

/// Whether this build can model at all (LLVM was there), and if not, how to get it.
bool built();

/// Whether this process may trace its own children, which modelling needs. Errors: no_permission with the
/// remedy, or system when no child can be had.
Result<> check_tracing();

/// Traces the workload and simulates the target CPU. Errors: unavailable when LLVM was not there at
/// build time, or the target has no core model (naming those that have).
Result<std::unique_ptr<CounterSource>> make_source(const events::Library& library, const events::Table& target,
                                                   const machine::Host& host, const Options& options);

}  // namespace tmaprobe::counters::model
