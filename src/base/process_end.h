#pragma once

#include <sys/types.h>

#include "base/fd.h"

namespace tmaprobe {

/// Readable once the process has ended. Empty where the kernel has no such descriptors (before 5.3) or there is no
/// such process: then it has to be looked for from time to time.
Fd end_of_process(pid_t process);

}  // namespace tmaprobe
