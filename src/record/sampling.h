#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tmaprobe::record {

/// One window of a sampled process, as it was simulated.
struct SampledWindow {
    std::string program;
    std::int64_t pid = 0;
    double instructions = 0, cycles = 0;
    double stands_for_ns = 0;
};

/// How much of the windows' weight one process has.
struct TaskShare {
    std::string program;
    std::int64_t pid = 0;
    double share = 0;
};

/// What sampling took from the processes that were sampled.
struct SamplingPauses {
    std::uint64_t copies = 0;
    double longest_ns = 0, total_ns = 0;
    std::uint64_t copied_pages = 0;
};

/// What a modelled command or process was sampled as.
struct Sampling {
    std::vector<SampledWindow> windows;
    std::map<std::string, std::uint64_t> ended_early, missed;
    std::vector<TaskShare> by_task;
    SamplingPauses pauses;
    double processor_ns = 0, system_ns = 0;
    double looks = 0, looks_met = 0;
    std::string looks_by;  ///< "cycles": that the CPU counted; "task-clock": processor time, by the kernel's timer

    /// Whether so little of its time was spent in code of the windows that they say nothing of it, as far as enough
    /// looks can tell.
    bool is_elsewhere() const {
        constexpr double enough = 10, little = 0.5;
        return looks >= enough && looks_met < little * looks;
    }
};

}  // namespace tmaprobe::record
