#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "counters/latency.h"
#include "counters/perf/counter_set.h"
#include "counters/perf/sampler.h"

namespace tmaprobe::counters::perf {

/// Latencies at retirement ("EVENT:R"), sampled while something runs: precise samples of the event, whose weight holds
/// the cycles since the instruction before retired (Intel's PEBS, from Meteor Lake and Granite Rapids on; Linux 6.3).
class LatencySampling {
  public:
    LatencySampling() = default;
    /// Of latencies that are not sampled.
    explicit LatencySampling(std::vector<SampledLatency> missing) : sampled_(std::move(missing)) {}
    /// Opens what can be opened; what cannot is missing, with the reason, in what finish() gives.
    ///
    /// `turn_ns`: what else is counted meanwhile has the counters for itself most of the time, and samples are taken
    /// once in a while for so long, in which each event has its turn; 0: they are taken all the time.
    static LatencySampling open(const std::vector<PlannedEvent>& latencies, const CountingTarget& target,
                                std::uint64_t turn_ns = 0);

    /// Whether any event is sampled.
    bool any() const { return sampler_ && sampler_->any_open(); }
    /// How many, for as many take counters.
    std::size_t events() const;
    /// Readable when drain() should be called; -1: never.
    int descriptor() const { return any() ? sampler_->descriptor() : -1; }
    /// The time begins in which it is started: by enable(), or by a program's exec.
    void begin();
    /// Starts and stops. What cannot be started gives no samples, and says so.
    void enable();
    void disable();
    void drain();
    /// Forgets what was sampled until now.
    void reset();
    /// All of the latencies, with what was sampled of each.
    std::vector<SampledLatency> finish();

  private:
    void take_turn();
    std::vector<SampledLatency> sampled_;
    std::optional<Sampler> sampler_;
    std::uint64_t turn_ns_ = 0;  ///< 0: there are no turns
    Fd turn_over_;               ///< a timer
    bool wanted_ = false, has_turn_ = false;
};

/// All of them, missing for this reason.
std::vector<SampledLatency> all_missing(const std::vector<PlannedEvent>& latencies, record::NoLatency why);

}  // namespace tmaprobe::counters::perf
