#include "trace/room_for_copy.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "base/file.h"

namespace tmaprobe::trace {
namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

/// How the files of a controller are called, in the second and in the first version of cgroups.
struct Controller {
    const char* name;
    const char *limit, *used;
    const char *old_limit, *old_used;
};
constexpr Controller memory_controller{"memory", "memory.max", "memory.current", "memory.limit_in_bytes",
                                       "memory.usage_in_bytes"};
constexpr Controller pids_controller{"pids", "pids.max", "pids.current", "pids.max", "pids.current"};

std::uint64_t number_in(const std::filesystem::path& file) {
    const std::string line = read_line(file);
    return line.empty() || line == "max" ? no_limit : std::strtoull(line.c_str(), nullptr, 10);
}

/// File pages are given back when memory is short.
std::uint64_t reclaimable(const std::filesystem::path& folder) {
    const auto text = read_file(folder / "memory.stat");
    std::istringstream lines(text ? *text : std::string());
    std::string key;
    unsigned long long value = 0, sum = 0;
    while (lines >> key >> value)
        if (key == "inactive_file" || key == "active_file") sum += value;
    return sum;
}

/// What is left under the limits of a group and of those that it is in.
std::uint64_t room_below(const std::filesystem::path& root, const std::string& group, const char* limit_name,
                         const char* used_name, bool memory) {
    std::uint64_t room = no_limit;
    std::filesystem::path folder = root / std::filesystem::path(group).relative_path();
    std::error_code ignored;
    for (;;) {
        const std::uint64_t limit = number_in(folder / limit_name);
        if (limit != no_limit) {
            std::uint64_t used = number_in(folder / used_name);
            if (memory) used -= std::min(used, reclaimable(folder));
            room = std::min(room, limit - std::min(limit, used));
        }
        if (folder == root || !folder.has_parent_path() || folder == folder.parent_path()) return room;
        folder = folder.parent_path();
    }
}

bool names(const std::string& controllers, const std::string& wanted) {
    std::istringstream list(controllers);
    std::string one;
    while (std::getline(list, one, ','))
        if (one == wanted) return true;
    return false;
}

std::uint64_t room_in_groups(pid_t process, const Controller& controller) {
    const auto text = read_file("/proc/" + std::to_string(process) + "/cgroup");
    std::istringstream lines(text ? *text : std::string());
    std::string line;
    std::uint64_t room = no_limit;
    const bool memory = controller.name == memory_controller.name;
    while (std::getline(lines, line)) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty())
            room = std::min(room, room_below("/sys/fs/cgroup", group, controller.limit, controller.used, memory));
        else if (names(controllers, controller.name))
            room = std::min(room, room_below(std::string("/sys/fs/cgroup/") + controller.name, group,
                                             controller.old_limit, controller.old_used, memory));
    }
    return room;
}

std::uint64_t available_memory() {
    const auto text = read_file("/proc/meminfo");
    const std::size_t at = text ? text->find("MemAvailable:") : std::string::npos;
    unsigned long long kilobytes = 0;
    if (at == std::string::npos || std::sscanf(text->c_str() + at, "MemAvailable: %llu", &kilobytes) != 1)
        return no_limit;
    return std::uint64_t{kilobytes} << 10;
}

/// Threads of the whole machine: an upper bound of those of one user.
std::uint64_t all_threads() {
    unsigned running = 0, all = 0;
    return std::sscanf(read_line("/proc/loadavg").c_str(), "%*f %*f %*f %u/%u", &running, &all) == 2 ? all : 0;
}

/// Whose processes are counted; the owner of its folder is another where it may not be dumped.
uid_t real_user(pid_t process) {
    const auto status = read_file("/proc/" + std::to_string(process) + "/status");
    const std::size_t at = status ? status->find("\nUid:") : std::string::npos;
    unsigned user = 0;
    if (at != std::string::npos) std::sscanf(status->c_str() + at, "\nUid: %u", &user);
    return user;
}

/// How many processes its user may have. (To ask prlimit() for it takes a capability that root may lack in a
/// container.)
std::optional<std::uint64_t> process_limit(pid_t process) {
    const auto limits = read_file("/proc/" + std::to_string(process) + "/limits");
    const std::size_t at = limits ? limits->find("Max processes") : std::string::npos;
    unsigned long long limit = 0;
    if (at == std::string::npos || std::sscanf(limits->c_str() + at, "Max processes %llu", &limit) != 1)
        return std::nullopt;  // unlimited
    return limit;
}

bool processes_are_short(pid_t process) {
    constexpr std::uint64_t needed = 64;  // two are made; what the program starts meanwhile is to have its room
    if (room_in_groups(process, pids_controller) < needed) return true;
    const auto limit = process_limit(process);
    return limit && real_user(process) != 0 && all_threads() + needed >= *limit;
}

}  // namespace

std::optional<Missed> lacks_room(pid_t process, std::uint64_t resident_bytes) {
    // A copy lives for a fraction of a second, in which no program makes more than this of its pages its own.
    constexpr std::uint64_t most_copied = std::uint64_t{2} << 30, for_ourselves = std::uint64_t{64} << 20;
    const std::uint64_t needed = std::min(resident_bytes, most_copied) + for_ourselves;
    if (available_memory() < needed || room_in_groups(process, memory_controller) < needed) return Missed::no_memory;
    if (processes_are_short(process)) return Missed::no_processes;
    return std::nullopt;
}

}  // namespace tmaprobe::trace
