#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/perf/counter_set.h"

namespace tmaprobe::counters::perf {

/// Nanoseconds that the counted threads spent on each hybrid PMU's cores; empty on other machines.
using Residency = std::map<std::string, std::uint64_t>;

/// The time between two readings.
Residency operator-(const Residency& later, const Residency& earlier);

/// One pinned cycle counter per PMU of a hybrid. It runs exactly while the counted threads are on its cores,
/// which tells residency apart from multiplexing: the kernel's enabled time knows no kinds of cores.
class ResidencyCounters {
  public:
    /// Nothing on a machine with one core PMU, where whole CPUs are counted (each belongs to one PMU), and
    /// where these counters do not open.
    static std::optional<ResidencyCounters> open(CountingTarget target);

    /// Started after and stopped before the counters that they are compared with: what was always counted
    /// then never looks as if it had been there only part of the time.
    Result<> enable() { return set_.enable(); }
    void disable() { (void)set_.disable(); }
    /// Since they were opened.
    Residency read() const;

  private:
    CounterSet set_;
    std::vector<std::string> pmus_;  ///< by event
};

}  // namespace tmaprobe::counters::perf
