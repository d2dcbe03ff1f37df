#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::experiments {

/// Who is in control groups.
struct ControlGroupMembers {
    std::vector<pid_t> processes;             ///< of all of them, each once
    std::vector<std::vector<pid_t>> of_each;  ///< in the order in which they were named
};

/// The processes that are in these control groups now. Errors: as process::processes_of_control_group.
Result<ControlGroupMembers> members_of_control_groups(const std::vector<std::string>& names);

}  // namespace tmaprobe::experiments
