#pragma once

#include <string>
#include <vector>

#include "model/simulation.h"

namespace tmaprobe::model {

/// Runs a command, which is let alone but for the moments at which it is copied, and simulates windows of the copies.
/// What goes wrong with these costs windows, and is said. Errors: those of starting the command.
Result<Modelled> simulate_command(const std::vector<std::string>& command, core::Core& core, trace::Decoder& decoder,
                                  const ModelledCpu& cpu, const ModelOptions& options);

/// The same of processes that run already, for so many seconds (0: until they end, or a signal comes).
Result<Modelled> simulate_processes(const std::vector<pid_t>& processes, double seconds, core::Core& core,
                                    trace::Decoder& decoder, const ModelledCpu& cpu, const ModelOptions& options);

}  // namespace tmaprobe::model
