#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tmaprobe::counters {

/// What counters are told beside the scope that every source knows: whose counts of it, and when.
struct ScopeDetail {
    std::vector<pid_t> further_pids;  ///< processes beside Scope::pid
    std::vector<pid_t> threads;       ///< of Scope::process: these threads alone; empty: all
    bool inherit = true;              ///< processes and threads that are started meanwhile are counted too
    /// Of Scope::process: each thread by itself, and none that starts later; Sample::by_cpu then has their ids.
    bool apart = false;
    std::vector<std::string> cgroups{};  ///< by which the processes were named; empty: by themselves
    /// The processes of each, where there are several: each by itself, too. Sample::by_cpu then has their numbers from
    /// 0.
    std::vector<std::vector<pid_t>> groups{};
    std::optional<int> delay_ms{};  ///< counting begins so much later; below 0: when it is told to
    std::string control{};          ///< how it is told: see process::ControlChannel; empty: it is not
};

}  // namespace tmaprobe::counters
