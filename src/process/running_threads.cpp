#include "process/running_threads.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/file.h"

namespace tmaprobe::process {
namespace {

std::vector<pid_t> numbers_in(const std::string& folder) {
    std::vector<pid_t> numbers;
    DIR* const list = ::opendir(folder.c_str());
    if (!list) return numbers;
    while (const dirent* entry = ::readdir(list))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            numbers.push_back(static_cast<pid_t>(std::atol(entry->d_name)));
    ::closedir(list);
    return numbers;
}

std::uint64_t tick_ns() {
    static const auto ns = 1'000'000'000 / static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
    return ns;
}

/// What /proc/.../stat says of a thread.
struct ThreadStatus {
    char state = 0;
    pid_t parent = 0, group = 0;
    unsigned long long user_ticks = 0, system_ticks = 0, children_user_ticks = 0, children_system_ticks = 0,
                       start_ticks = 0;

    /// False when it is gone.
    bool read(const std::string& folder) {
        const std::string line = read_line(folder + "/stat");
        const std::size_t after = line.rfind(')');
        return after != std::string::npos &&
               std::sscanf(line.c_str() + after + 1,
                           " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %*d %*d %llu", &state,
                           &parent, &group, &user_ticks, &system_ticks, &children_user_ticks, &children_system_ticks,
                           &start_ticks) == 8 &&
               state != 'Z' && state != 'X';
    }
};

std::vector<pid_t> children_in(const std::string& thread_folder) {
    std::istringstream list(read_line(thread_folder + "/children"));
    std::vector<pid_t> children;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    return children;
}

}  // namespace

Descendants::Descendants(std::vector<pid_t> processes) : first_(std::move(processes)) {
    for (const pid_t process : first_) {
        ThreadStatus status;
        if (!status.read("/proc/" + std::to_string(process))) continue;
        groups_.insert(status.group);
        earliest_ = std::min<std::uint64_t>(earliest_, status.start_ticks);
    }
}

void Descendants::visit(pid_t first, std::vector<ThreadUse>& found, std::map<pid_t, Known>& seen) const {
    std::vector<pid_t> to_visit{first};
    while (!to_visit.empty()) {
        const pid_t process = to_visit.back();
        to_visit.pop_back();
        if (left_out.contains(process) || seen.contains(process)) continue;
        const std::string folder = "/proc/" + std::to_string(process) + "/task/";
        for (const pid_t thread : numbers_in(folder)) {
            const std::string thread_folder = folder + std::to_string(thread);
            ThreadStatus status;
            const bool there = status.read(thread_folder);
            for (const pid_t child : children_in(thread_folder)) to_visit.push_back(child);
            if (!there) continue;
            if (thread == process) seen[process] = {status.start_ticks, status.parent, status.group};
            // The scheduler's own figure is finer than clock ticks.
            const std::uint64_t used =
                used_by(process, thread).value_or((status.user_ticks + status.system_ticks) * tick_ns());
            const std::uint64_t children =
                thread == process ? (status.children_user_ticks + status.children_system_ticks) * tick_ns() : 0;
            const std::uint64_t in_children = thread == process ? status.children_system_ticks * tick_ns() : 0;
            found.push_back(
                {process, thread, used, status.system_ticks * tick_ns(), status.state == 'R', children, in_children});
        }
        seen.try_emplace(process);
    }
}

std::vector<pid_t> Descendants::orphans_of_our_groups() const {
    constexpr pid_t init = 1;
    std::vector<pid_t> orphans;
    for (const pid_t child : children_in("/proc/1/task/1")) {
        ThreadStatus status;
        if (!left_out.contains(child) && status.read("/proc/" + std::to_string(child)) && status.parent == init &&
            groups_.contains(status.group) && status.start_ticks >= earliest_)
            orphans.push_back(child);
    }
    return orphans;
}

std::vector<ThreadUse> Descendants::look() {
    std::vector<ThreadUse> found;
    std::map<pid_t, Known> seen;
    for (const pid_t process : first_) visit(process, found, seen);
    for (const auto& [process, known] : known_) {
        ThreadStatus status;
        if (seen.contains(process) || !status.read("/proc/" + std::to_string(process)) ||
            status.start_ticks != known.start)
            continue;
        visit(process, found, seen);
    }
    for (const pid_t orphan : orphans_of_our_groups()) visit(orphan, found, seen);
    known_ = std::move(seen);
    return found;
}

bool has_ended(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process) + "/task/";
    return std::ranges::none_of(numbers_in(folder), [&](pid_t thread) {
        ThreadStatus status;
        return status.read(folder + std::to_string(thread));
    });
}

ProcessState state_of(pid_t process) {
    const auto status = read_file("/proc/" + std::to_string(process) + "/status");
    if (!status) return ProcessState::gone;
    const auto says = [&](const char* line) { return status->find(line) != std::string::npos; };
    // The first thread may have ended before the others.
    if (has_ended(process)) return ProcessState::zombie;
    if (says("\nState:\tZ")) return ProcessState::there;
    if (!says("\nVmSize:")) return ProcessState::of_kernel;
    if (!says("\nTracerPid:\t0\n")) return ProcessState::traced;
    return says("\nState:\tT") ? ProcessState::stopped : ProcessState::there;
}

std::optional<std::uint64_t> used_by(pid_t process, pid_t thread) {
    const std::string figures =
        read_line("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/schedstat");
    if (figures.empty()) return std::nullopt;
    return std::strtoull(figures.c_str(), nullptr, 10);
}

std::optional<ProcessUse> use_of(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process);
    const std::string line = read_line(folder + "/stat");
    const std::size_t after = line.rfind(')');
    unsigned long long minor = 0, major = 0, user = 0, system = 0;
    if (after == std::string::npos ||
        std::sscanf(line.c_str() + after + 1, " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu", &minor,
                    &major, &user, &system) != 4)
        return std::nullopt;
    ProcessUse use{static_cast<double>((user + system) * tick_ns()), minor + major, {}};
    for (const pid_t thread : numbers_in(folder + "/task/")) {
        const auto status = read_file(folder + "/task/" + std::to_string(thread) + "/status");
        const std::size_t at = status ? status->find("\nvoluntary_ctxt_switches:") : std::string::npos;
        unsigned long long voluntary = 0, others = 0;
        if (at != std::string::npos &&
            std::sscanf(status->c_str() + at, "\nvoluntary_ctxt_switches: %llu nonvoluntary_ctxt_switches: %llu",
                        &voluntary, &others) == 2)
            use.context_switches[thread] = voluntary + others;
    }
    return use;
}

std::string program_of(pid_t process) { return read_line("/proc/" + std::to_string(process) + "/comm"); }

}  // namespace tmaprobe::process
