#pragma once

#include <optional>
#include <string>

#include "experiments/progress.h"

namespace tmaprobe::cli {

/// What the progress line says, from what a long job reports and the seconds since it began. It holds no clock.
class ProgressText {
  public:
    /// "43%  16M 4k  12.1 ns  about 40 s left". A time left is said from a tenth of the way on, where the job knows its
    /// whole length; 100% is never said, for what is done has a report instead.
    std::string update(const experiments::Progress& progress, double seconds);

    /// Seconds left by the last update; empty: nobody can say.
    std::optional<double> left() const { return left_; }

  private:
    std::optional<double> left_;
};

/// "40 s", "3 min", "1 h 20 min": as exact as an estimate is.
std::string rough_time(double seconds);

}  // namespace tmaprobe::cli
