#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "counters/latency.h"
#include "counters/plan.h"
#include "counters/slot_attribution.h"
#include "counters/workload.h"
#include "record/record.h"

namespace tmaprobe::counters {

/// Which run of the workload this is.
struct Repetition {
    std::size_t pass = 0;  ///< index into Plan::passes; beyond them: see CounterSource::runs_of
    int index = 0;
    std::uint64_t iterations = 1;  ///< handed to Workload::run
};

/// One step of a series: what was counted between two ticks.
struct Interval {
    std::uint64_t start_ns = 0;  ///< since the region began
    std::uint64_t duration_ns = 0;
    std::vector<record::Event> events;  ///< scaled by this interval's own times
};

/// The time of a command that ran under the model's tracer: what the clock showed, and what of it the tracer added.
struct TracedTime {
    double elapsed_ns = 0;                       ///< from its start to its end
    double added_ns = 0;                         ///< by the tracer, as far as can be told
    double added_low_ns = 0, added_high_ns = 0;  ///< and between which bounds that lies
};

/// The counts of one region.
struct RegionEvents {
    std::vector<record::Event> events;                   ///< none: it has no tree
    std::vector<std::vector<record::Event>> variations;  ///< as Sample::variations
};

/// Regions of a command, without their metrics.
struct RegionSamples {
    record::Regions known;
    std::vector<RegionEvents> events;  ///< as many as regions
};

/// What one run of the workload gave.
struct Sample {
    std::vector<record::Event> events;  ///< of this pass
    std::uint64_t elapsed_ns =
        0;  ///< wall time of the region alone, without opening and reading; the model's: as modelled
    std::optional<TracedTime> traced;  ///< of a command that was traced
    bool interrupted = false;          ///< a signal to us ended it before its time
    bool nothing_seen = false;         ///< it ended before the source saw anything of it: there is nothing to judge
    std::uint64_t thread_ns = 0;       ///< processor time of the calling thread in the region; 0: not measured
    std::uint64_t iterations = 1;
    std::optional<int> exit_status;  ///< of a command, as a shell would give it (128 + signal)
    std::vector<record::Warning> warnings;
    std::map<int, std::vector<record::Event>> by_cpu;  ///< Scope::cpus only: the same events on each CPU by itself
    std::vector<Interval> series;                      ///< with an interval only; the last step may be shorter
    std::vector<SampledLatency> latencies;             ///< of Plan::latencies, as far as this run sampled them
    std::optional<record::PerfDetail> perf;            ///< what counters say beside the counts
    std::optional<record::ModelDetail> model;          ///< what the model ran on
    std::optional<SlotAttribution> attribution;        ///< the model's, where it was asked for
    std::optional<RegionSamples> regions;              ///< where the program has some
    /// Set by the model: variations of the same counts (prefetcher off, latency low/high, other windows)
    /// from which bounds of metrics are taken. Each has the same events as `events`.
    std::vector<std::vector<record::Event>> variations;
};

/// What is true of a source whatever it measures, so that nobody has to ask which one it is.
struct SourceTraits {
    record::Status status = record::Status::measured;  ///< of a metric that has a value from its counts
    bool repeats = true;                 ///< another run gives counts of its own, and their spread says something
    bool runs_natively = true;           ///< what it measures runs as by itself: its time is its own
    std::string_view work = "counting";  ///< what a person waits for meanwhile
};

/// The seam: measures a workload once. perf counts, model simulates. Everything above knows them by their traits and
/// limits, and tells them apart only by describe().
class CounterSource {
  public:
    virtual ~CounterSource() = default;
    virtual SourceTraits traits() const = 0;
    /// What it can count at once, by PMU; empty: nobody knows.
    virtual std::vector<PmuLimits> limits() const = 0;
    /// Opens what the plan needs. Errors: unavailable or no_permission with the remedy.
    virtual Result<> prepare(const Plan& plan) = 0;
    /// How many runs of the workload the prepared plan takes: one for each pass, and those in which nothing is counted
    /// and something else is measured. Repetition::pass goes over them.
    virtual std::size_t runs_of(const Plan& plan, const Workload&) const {
        return std::max<std::size_t>(1, plan.passes.size());
    }
    virtual Result<Sample> measure(Workload& workload, Repetition repetition) = 0;
    virtual record::Source describe() const = 0;
};

/// Measures time alone: for machines without counters and for timing without their cost.
std::unique_ptr<CounterSource> make_clock_source();

}  // namespace tmaprobe::counters
