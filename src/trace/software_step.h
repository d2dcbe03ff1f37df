#pragma once

#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// Whether this instruction is one that the tracer can execute itself: sha256rnds2, sha256msg1 and
/// sha256msg2 in their legacy encoding.
bool can_step_in_software(const StaticInstruction& instruction);

/// Whether it is one of them and this processor cannot execute it.
bool must_step_in_software(const StaticInstruction& instruction);

/// Executes it on the stopped thread's registers and memory and advances the instruction pointer. The
/// upper halves of vector registers stay, as on hardware. Errors: unavailable when it is none of
/// those; system.
Result<> step_in_software(TracedProcess& process, const StaticInstruction& instruction, Registers& registers);

}  // namespace tmaprobe::trace
