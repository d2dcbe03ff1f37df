#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/kinds.h"

namespace tmaprobe::record {

/// Times of two runs side by side. The ratio is after / before, with its 95% interval; nothing where one side has fewer
/// than three clean repetitions.
struct ComparedTime {
    double before_ns = 0, after_ns = 0;
    std::optional<double> ratio, low, high;
    double confidence = 0;   ///< with which low..high holds the true ratio
    bool differs = false;    ///< beyond the noise
    bool disturbed = false;  ///< one side has too few undisturbed repetitions
    bool judged = false;     ///< there was enough to tell a difference from noise
    std::uint64_t before_repetitions = 0, after_repetitions = 0;
};

/// One metric in both runs, as fractions like in the record.
struct ComparedMetric {
    std::string name;
    int level = 0;
    Category category = Category::none;
    double before = 0, after = 0;
    bool beyond_bounds = false;    ///< the two intervals [low, high] do not touch
    Status of = Status::measured;  ///< status of both
};

/// Two runs side by side.
struct Comparison {
    std::string before, after;            ///< how the two are called: "4k" and "2m", or file names
    std::string subject;                  ///< what both ran; may be empty
    std::string what;                     ///< the findings in sentences
    std::vector<ComparedMetric> metrics;  ///< those that both have with the same status
    std::vector<std::string> notes;       ///< why something was not compared
    std::optional<ComparedTime> time;     ///< nothing: one of them has none
};

}  // namespace tmaprobe::record
