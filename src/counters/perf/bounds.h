#pragma once

#include <cstddef>

namespace tmaprobe::counters::perf {

/// Spread of an event's rate over windows of one run (Welford, weighted), from which the error of a count that was
/// only taken part of the time follows.
class RateSpread {
  public:
    /// One window: counts, and the ns that the event ran. Windows weigh as long as they ran, since a rate
    /// over a few microseconds says little; windows in which the event never ran are left out.
    void add(double counts, double running_ns);
    /// A window in which the event was enabled and had no counter: its ns.
    void add_idle(double enabled_ns);
    std::size_t windows() const { return windows_; }
    /// The longest time without a counter, in whole windows.
    double longest_idle_ns() const { return longest_idle_; }
    /// Standard deviation over mean; 0 with fewer than two windows or no counts.
    double coefficient_of_variation() const;

  private:
    std::size_t windows_ = 0;
    double weight_ = 0, mean_ = 0, squares_ = 0;
    double idle_ = 0, longest_idle_ = 0;
};

/// Half-width of the 95% interval of a multiplexed count, relative to the scaled value.
///
/// The run is n = enabled / interval rotation slices, of which k = share x n were counted, a sample
/// without replacement: relative variance = cv^2 (1 - share) / k, with cv the variation of the rate from
/// slice to slice. cv is measured over windows of `window_ns` when there are at least eight (windows
/// average several slices, so it grows by the root of the slices per window); otherwise it is taken as 1,
/// a rate that varies as much as it amounts to. The kernel's clock adds two rotation edges of jitter.
double multiplex_error(double share, double enabled_ns, double interval_ns, const RateSpread& spread, double window_ns);

/// What may be expected at most (97.5%) of an event that was seen so often, however rare it is (Poisson, by the roots'
/// normal approximation): of one that was not seen, four.
double most_of_rare(double seen);

/// The share of an event's time in which somebody else had its counter: a gap in one piece that groups taking turns do
/// not leave. 0: there was none. What an event would have counted there is not known: taken to be between nothing and
/// twice its mean.
double taken_share(double enabled_ns, double interval_ns, std::size_t groups, const RateSpread& spread);

}  // namespace tmaprobe::counters::perf
