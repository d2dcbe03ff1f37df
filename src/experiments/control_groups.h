#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::experiments {

/// The processes that are in these control groups now. Errors: as process::processes_of_control_group.
Result<std::vector<pid_t>> processes_of_control_groups(const std::vector<std::string>& names);

}  // namespace tmaprobe::experiments
