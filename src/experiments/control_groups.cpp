#include "experiments/control_groups.h"

#include <algorithm>

#include "process/control_group.h"

namespace tmaprobe::experiments {

Result<ControlGroupMembers> members_of_control_groups(const std::vector<std::string>& names) {
    ControlGroupMembers members;
    for (const std::string& name : names) {
        const auto& processes = members.of_each.emplace_back(TRY(process::processes_of_control_group(name)));
        for (const pid_t process : processes)
            if (std::ranges::find(members.processes, process) == members.processes.end())
                members.processes.push_back(process);
    }
    return members;
}

}  // namespace tmaprobe::experiments
