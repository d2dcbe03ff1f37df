#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "counters/perf/time_profile.h"

namespace tmaprobe::model {

/// Part of a process's time, in looks at it from its start on.
struct LookedAtTime {
    double begin = 0, end = 0;
};

/// When moments of copies are taken: evenly, and some more where looks are at code that none of these is near, so that
/// a phase that is short has a moment, too.
class PlannedMoments {
  public:
    /// Of a copy that goes on over the time: its moments, in order, as shares of that time. `even`: those that are
    /// spread over it; the first is 0, where the copy was made. Of `followed` of it, 0 to 1, at most `further` are
    /// added. Where no look is told, the even ones.
    std::vector<double> of(const std::vector<counters::perf::TimeProfile::Look>& looks, LookedAtTime time,
                           const std::vector<double>& even, double followed, std::size_t further);

  private:
    using Looks = std::vector<counters::perf::TimeProfile::Look>;
    void note_near(const Looks& looks, double moment, std::uint64_t piece_bytes);

    std::set<std::uint64_t> met_;  ///< pieces of code that moments were planned near to
};

}  // namespace tmaprobe::model
