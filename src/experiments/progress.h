#pragma once

#include <functional>
#include <string>

namespace tmaprobe::experiments {

/// How far a long job is; the command line draws it.
struct Progress {
    std::string stage;     ///< "timing", "pass 2 of 5", "tracing", "16M 4k"
    double done = 0;       ///< 0..1
    std::string estimate;  ///< current result worth showing: "2.04 GB/s", may be empty
};

/// Called from the measuring thread between measurements, never inside one. May be empty.
using OnProgress = std::function<void(const Progress&)>;

}  // namespace tmaprobe::experiments
