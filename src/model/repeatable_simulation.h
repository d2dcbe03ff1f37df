#pragma once

#include <string>
#include <vector>

#include "model/simulation.h"

namespace tmaprobe::model {

/// Runs a command of its own from its first instruction to its end as copied code (trace::Translator), without
/// randomised addresses and with its environment in order, and simulates windows of it at numbers of instructions: a
/// deterministic program with one thread gives the same values bit for bit each time. Its first thread is followed;
/// what it starts runs by itself. Errors: those of TracedProcess and Core.
Result<Modelled> simulate_repeatably(const std::vector<std::string>& command, core::Core& core, trace::Decoder& decoder,
                                     const ModelledCpu& cpu, const ModelOptions& options);

}  // namespace tmaprobe::model
