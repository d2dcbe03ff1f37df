#include "process/control_group.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

namespace tmaprobe::process {
namespace {

namespace fs = std::filesystem;

bool is_control_group(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "cgroup.procs", ignored);
}

/// Version 2 has one hierarchy, at the mount itself; version 1 has one for each controller, in a folder of its own.
std::optional<fs::path> find_group(const std::string& name, const fs::path& mounts) {
    const fs::path relative = fs::path(name).relative_path();
    if (name.starts_with(mounts.string() + "/") && is_control_group(name)) return name;
    if (is_control_group(mounts / relative)) return mounts / relative;
    std::error_code error;
    for (const auto& hierarchy : fs::directory_iterator(mounts, error))
        if (is_control_group(hierarchy.path() / relative)) return hierarchy.path() / relative;
    return std::nullopt;
}

void add_processes(const fs::path& group, std::set<pid_t>& processes) {
    std::ifstream list(group / "cgroup.procs");
    for (pid_t process = 0; list >> process;)
        if (process > 0 && process != ::getpid()) processes.insert(process);  // 0: of another namespace
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(group, error))
        if (entry.is_directory(error)) add_processes(entry.path(), processes);
}

}  // namespace

Result<std::vector<pid_t>> processes_of_control_group(const std::string& name, const fs::path& mounts) {
    const auto group = find_group(name, mounts);
    if (!group || name.empty())
        return fail(ErrorCode::bad_usage, "there is no control group '" + name + "' in " + mounts.string(),
                    "systemd-cgls shows those there are; write for example system.slice/nginx.service");
    std::set<pid_t> processes;
    add_processes(*group, processes);
    if (processes.empty())
        return fail(ErrorCode::unavailable, "no process is in the control group " + group->string(),
                    "its processes and what they start are counted: start them first");
    return std::vector<pid_t>(processes.begin(), processes.end());
}

}  // namespace tmaprobe::process
