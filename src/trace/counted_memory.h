#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "trace/private_mappings.h"

namespace tmaprobe::trace {

/// A shared mapping whose users the kernel counts: a System V segment, which is removed when nobody has it any more,
/// or a memfd file, which cannot be sealed while another can write it. A copy must not have it, not for a moment.
struct CountedMapping {
    SharedMapping memory;
    bool forked = true;  ///< a child would get it; else the program itself has seen to it
};

/// Those of a process, of which /proc/PID/maps says this.
std::vector<CountedMapping> counted_mappings(pid_t process, const std::string& maps);

}  // namespace tmaprobe::trace
