#include "counters/perf/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/file.h"

namespace tmaprobe::counters::perf {
namespace {

/// On a busy machine a thread that ends is listed for a while, and can no longer be counted.
bool is_ending(pid_t thread) {
    constexpr unsigned exiting = 0x4;  // the kernel's PF_EXITING
    const std::string line = read_line(fmt::format("/proc/{0}/task/{0}/stat", thread));
    const std::size_t name_ends = line.rfind(')');
    char state = 0;
    unsigned flags = 0;
    if (name_ends == std::string::npos ||
        std::sscanf(line.c_str() + name_ends + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
        return true;
    return state == 'Z' || state == 'X' || (flags & exiting);
}

/// The threads of one process.
Result<std::vector<pid_t>> threads_of(pid_t process) {
    std::vector<pid_t> threads;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
        const std::string name = entry.path().filename();
        pid_t thread = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc{})
            threads.push_back(thread);
    }
    if (threads.empty())
        return fail(ErrorCode::unavailable, fmt::format("there is no process {}", process),
                    "ps -e shows those there are");
    return threads;
}

}  // namespace

std::vector<pid_t> pids_of(const Scope& scope, const ScopeDetail& detail) {
    std::vector<pid_t> pids{scope.pid};
    pids.insert(pids.end(), detail.further_pids.begin(), detail.further_pids.end());
    return pids;
}

Result<std::vector<pid_t>> threads_of(const Scope& scope, const ScopeDetail& detail) {
    std::vector<pid_t> threads;
    for (const pid_t thread : detail.threads) {
        std::error_code error;
        if (!std::filesystem::exists(fmt::format("/proc/{0}/task/{0}", thread), error))
            return fail(ErrorCode::unavailable, fmt::format("there is no thread {}", thread),
                        "ps -eL shows those there are");
        threads.push_back(thread);
    }
    if (!threads.empty()) return threads;
    for (const pid_t process : pids_of(scope, detail)) {
        const auto more = TRY(threads_of(process));
        threads.insert(threads.end(), more.begin(), more.end());
    }
    return threads;
}

Result<CountingTarget> target_of(const Session& session, const process::HeldCommand* command) {
    CountingTarget target;
    target.user = session.plan.user;
    target.kernel = session.plan.kernel;
    target.inherit = session.options.detail.inherit && !session.options.detail.apart;
    switch (session.scope.kind) {
        case Scope::Kind::process: {
            target.threads = TRY(threads_of(session.scope, session.options.detail));
            target.other_process = true;
            break;
        }
        case Scope::Kind::cpus:
            target.threads = {-1};
            target.cpus = session.scope.cpus;
            target.inherit = false;
            break;
        default:
            target.threads = {command->pid()};
            target.start_on_exec = !session.options.detail.delay_ms;
    }
    return target;
}

void add_members(const ScopeDetail& detail, std::vector<std::set<pid_t>>& groups) {
    groups.resize(detail.groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group)
        for (const pid_t process : detail.groups[group])
            // One that has ended meanwhile has nothing to add.
            if (const auto threads = threads_of(process)) groups[group].insert(threads->begin(), threads->end());
}

Result<CounterSet> open_on(const Session& session, CountingTarget target, const std::vector<std::size_t>& groups) {
    for (int in_vain = 0;;) {
        auto set = CounterSet::open_some(session.plan.passes[session.pass].groups, target, groups);
        if (set || session.scope.kind != Scope::Kind::process || in_vain == 3) return set;
        const auto there = TRY(threads_of(session.scope, session.options.detail));
        const auto ended = std::erase_if(target.threads, [&](pid_t thread) {
            return std::ranges::find(there, thread) == there.end() || is_ending(thread);
        });
        if (target.threads.empty()) target.threads = there;
        in_vain += ended == 0;
    }
}

}  // namespace tmaprobe::counters::perf
