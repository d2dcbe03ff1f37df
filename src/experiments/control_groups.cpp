#include "experiments/control_groups.h"

#include <algorithm>

#include "process/control_group.h"

namespace tmaprobe::experiments {

Result<std::vector<pid_t>> processes_of_control_groups(const std::vector<std::string>& names) {
    std::vector<pid_t> all;
    for (const std::string& name : names)
        for (const pid_t process : TRY(process::processes_of_control_group(name)))
            if (std::ranges::find(all, process) == all.end()) all.push_back(process);
    return all;
}

}  // namespace tmaprobe::experiments
