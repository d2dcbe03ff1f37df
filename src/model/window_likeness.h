#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace tmaprobe::model {

/// What the first executed instructions of a sample are, to find a window that has them too. A sample is of the moment
/// at which it was taken, in proportion to time; its window comes later, when the caches are warm, and would lie in
/// proportion to instructions, or always so far on, were it just the next one.
class WindowLikeness {
  public:
    /// Of no more than the first steps: a long stretch may be of two phases, and then nothing is like it.
    explicit WindowLikeness(const std::vector<trace::Step>& steps) {
        constexpr std::ptrdiff_t looked_at = 2000;
        const auto most = static_cast<std::ptrdiff_t>(steps.size());
        count({steps.begin(), steps.begin() + std::min(looked_at, most)}, counts_);
        for (const std::uint32_t times : counts_) steps_ += times;
    }

    /// The share of these steps that a window has too, 0..1.
    double with(const std::vector<trace::Step>& window) const {
        std::vector<std::uint32_t> counts;
        count(window, counts);
        std::size_t same = 0;
        for (std::size_t i = 0; i < std::min(counts.size(), counts_.size()); ++i)
            same += std::min(counts[i], counts_[i]);
        return steps_ ? static_cast<double>(same) / static_cast<double>(steps_) : 0;
    }

  private:
    static void count(const std::vector<trace::Step>& steps, std::vector<std::uint32_t>& counts) {
        for (const trace::Step& step : steps) {
            if (step.instruction >= counts.size()) counts.resize(step.instruction + 1);
            ++counts[step.instruction];
        }
    }

    std::size_t steps_ = 0;
    std::vector<std::uint32_t> counts_;  ///< by number of the instruction
};

}  // namespace tmaprobe::model
