#pragma once

#include <functional>
#include <optional>
#include <string>

namespace tmaprobe::experiments {

/// What a share is of: the whole job, or one step of one whose further steps take nobody knows how long.
enum class ProgressOf { whole, step };

/// How far a long job is; the command line draws it.
struct Progress {
    std::string stage;     ///< what is waited for: "timing until the median is tight", "16M 4k"
    double done = 0;       ///< 0..1, in time as far as that can be told before
    std::string estimate;  ///< current result worth showing: "2.04 GB/s", may be empty
    ProgressOf of = ProgressOf::whole;
    std::optional<double> seconds_left{};  ///< where the job knows better than its share done tells
};

/// Called from the measuring thread between measurements, never inside one. May be empty.
using OnProgress = std::function<void(const Progress&)>;

}  // namespace tmaprobe::experiments
