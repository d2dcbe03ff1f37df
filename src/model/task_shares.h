#pragma once

#include <algorithm>
#include <vector>

#include "record/sampling.h"

namespace tmaprobe::model {

/// What each process and program has of the time that the windows stand for, largest first.
inline std::vector<record::TaskShare> task_shares(const std::vector<record::SampledWindow>& windows) {
    std::vector<record::TaskShare> tasks;
    double all = 0;
    for (const auto& window : windows) {
        all += window.stands_for_ns;
        const auto same = [&](const record::TaskShare& task) {
            return task.pid == window.pid && task.program == window.program;
        };
        auto task = std::find_if(tasks.begin(), tasks.end(), same);
        if (task == tasks.end()) task = tasks.insert(task, {window.program, window.pid, 0});
        task->share += window.stands_for_ns;
    }
    for (auto& task : tasks) task.share = all > 0 ? task.share / all : 1.0 / static_cast<double>(tasks.size());
    std::sort(tasks.begin(), tasks.end(), [](const auto& one, const auto& other) { return one.share > other.share; });
    return tasks;
}

}  // namespace tmaprobe::model
