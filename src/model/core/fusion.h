#pragma once

#include "model/core/simulate.h"
#include "trace/trace.h"

namespace tmaprobe::model::core {

/// Whether an instruction and the conditional jump behind it are one operation (macro-fusion: Intel 64 and IA-32
/// Architectures Optimization Reference Manual (248966); which pairs, by the clock, in docs/core-by-the-clock.md).
bool fuses(const CoreParameters& parameters, const trace::StaticInstruction& first,
           const trace::StaticInstruction& second);

}  // namespace tmaprobe::model::core
