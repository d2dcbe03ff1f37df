#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "counters/plan.h"
#include "record/findings.h"

namespace tmaprobe::counters {

/// Latencies at retirement of one event's samples, added up. Each sample stands for as many events as have happened
/// since the one before (its period), and weighs as much: the mean is that of the events, also where the kernel changes
/// the period to keep the number of samples in a second (West's and Chan's weighted updates).
class LatencySums {
  public:
    /// One sample: its latency in cycles, and how many events it stands for (at least one).
    void add(double cycles, double events);
    void add(const LatencySums& more);

    std::uint64_t samples() const { return samples_; }
    /// How many samples of one weight would tell as much (Kish): few heavy samples tell less than as many alike.
    double effective_samples() const;
    double mean() const { return mean_; }
    /// Half of the 95% interval of the mean, by Student's t; 0 for fewer than two effective samples.
    double half_interval() const;

  private:
    std::uint64_t samples_ = 0;
    double weight_ = 0, weights_squared_ = 0;
    double mean_ = 0, squares_ = 0;
};

/// What sampling gave for one of Plan::latencies.
struct SampledLatency {
    PlannedEvent event;
    LatencySums sums{};
    std::uint64_t lost = 0;                               ///< samples for which the kernel had no room
    record::NoLatency missing = record::NoLatency::none;  ///< why it was not sampled
};

/// Adds one run's samples to those of other runs.
void add_latencies(const std::vector<SampledLatency>& run, std::vector<SampledLatency>& all);

/// Fewer effective samples than this give no mean: its bounds would hold anything.
inline constexpr double fewest_latency_samples = 10;

/// The latency as the record has it: a mean with bounds, or why there is none.
record::RetireLatency latency_of(const SampledLatency& sampled);

}  // namespace tmaprobe::counters
