#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace tmaprobe::process {

/// The processes of a control group and of the groups in it, sorted, without this one. `name` is a path below the mount
/// of a hierarchy ("system.slice/nginx.service"), or a folder of one ("/sys/fs/cgroup/..."). Errors: bad_usage where no
/// hierarchy has the group, unavailable where it is empty.
Result<std::vector<pid_t>> processes_of_control_group(const std::string& name,
                                                      const std::filesystem::path& mounts = "/sys/fs/cgroup");

}  // namespace tmaprobe::process
