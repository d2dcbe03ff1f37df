#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/traced_process.h"

namespace tmaprobe::trace {

/// A command under the tracer, which stands before its first instruction.
struct FixedStart {
    TracedProcess process;
    std::uint64_t image_end = 0;                     ///< behind the program as it was loaded: its heap follows
    std::uint64_t stack_begin = 0;                   ///< below all that its stack can grow to
    std::uint64_t loader_begin = 0, loader_end = 0;  ///< code of the dynamic loader; 0: there is none
};

/// Starts a command so that as little as can be of where its memory lies is left to chance: no address is random, the
/// environment is in the order of the alphabet, and the stack begins at one place however long environment, path and
/// arguments are. What is random by itself (AT_RANDOM) is the same each time, and times are asked of the kernel and not
/// of its vDSO, so that they are seen. Python and perl are told to begin with one hash seed. Input and output are
/// /dev/null. Errors: unavailable when it cannot be executed; those of TracedProcess.
Result<FixedStart> start_fixed(const std::vector<std::string>& command);

/// In a child that is traced: executes a command where no address is random, its environment in the order of the
/// alphabet. Does not come back.
void execute_at_fixed_addresses(const std::vector<std::string>& command);

}  // namespace tmaprobe::trace
