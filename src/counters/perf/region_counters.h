#pragma once

#include <string>
#include <vector>

#include "counters/perf/collect.h"
#include "counters/source.h"
#include "process/region_page.h"

namespace tmaprobe::counters::perf {

/// What is known of a run when it is over.
struct RunOfRegions {
    pid_t command = 0;
    double processor_ns = 0;  ///< of the command and those that it waited for
    double rotation_ns = 0;   ///< how often the kernel rotates groups
};

/// Counters that each thread of a command has for itself and reads at its marks (include/tmaprobe/region.h). The tool
/// says which, as nobody else can read what a thread has counted between two instructions.
class RegionCounters {
  public:
    /// For the command that is started next. Which events a thread cannot count for itself (the kernel's own, those of
    /// the machine), regions do not have. `kinds_of_cores`: more than one, and nothing is counted. Errors: system.
    static Result<RegionCounters> create(const Pass& pass, const PassPlace& place, const CountingTarget& target,
                                         std::size_t kinds_of_cores);

    /// What the command finds in its environment.
    const std::string& path() const { return page_.path(); }
    /// That every thread with marks adds to what takes turns.
    std::size_t groups() const { return groups_; }
    /// One window more, from whose rates the bounds of counts that take turns follow.
    void tick();
    /// The regions of the run that is over. `warnings`: of what could not be counted, and what counting cost.
    RegionSamples finish(const RunOfRegions& run, std::vector<record::Warning>& warnings) const;

  private:
    explicit RegionCounters(process::RegionPage page) : page_(std::move(page)) {}

    /// What one region has counted, as it was counted.
    std::vector<record::Event> counts_of(const process::RegionSums& sums, const std::vector<int>& refused) const;
    std::vector<record::Event> events_of(std::size_t region, const process::CountedRegions& counted,
                                         double rotation_ns) const;
    std::string why_not(const process::CountedRegions& counted) const;

    process::RegionPage page_;
    CountingTarget target_;
    std::vector<PlannedEvent> events_;      ///< that are counted
    std::vector<record::Event> described_;  ///< the same, without counts
    std::size_t groups_ = 0;
    bool several_kinds_ = false;
    std::vector<process::RegionSums> last_;         ///< at the last tick
    std::vector<std::vector<RateSpread>> spreads_;  ///< by region and event
};

}  // namespace tmaprobe::counters::perf
