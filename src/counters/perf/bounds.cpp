#include "counters/perf/bounds.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::counters::perf {
namespace {

constexpr std::size_t enough_windows = 8;
constexpr double unknown_variation = 1;

/// Time for which a rotation's edges are uncertain: the hrtimer's interrupt and the switch itself.
constexpr double edge_ns = 2000;

}  // namespace

void RateSpread::add(double counts, double running_ns) {
    if (running_ns <= 0) return;
    idle_ = 0;
    ++windows_;
    weight_ += running_ns;
    const double rate = counts / running_ns, difference = rate - mean_;
    mean_ += difference * running_ns / weight_;
    squares_ += running_ns * difference * (rate - mean_);
}

void RateSpread::add_idle(double enabled_ns) {
    idle_ += enabled_ns;
    longest_idle_ = std::max(longest_idle_, idle_);
}

double most_of_rare(double seen) {
    const double root = std::sqrt(seen + 1) + 0.98;
    return root * root;
}

double taken_share(double enabled_ns, double interval_ns, std::size_t groups, const RateSpread& spread) {
    constexpr double patience_ns = 10e6;  // a busy machine's timers are late
    const double turns_ns = 2 * interval_ns * static_cast<double>(groups) + patience_ns;
    if (enabled_ns <= 0 || spread.longest_idle_ns() <= turns_ns) return 0;
    return std::min(1.0, spread.longest_idle_ns() / enabled_ns);
}

double RateSpread::coefficient_of_variation() const {
    if (windows_ < 2 || mean_ <= 0) return 0;
    const auto windows = static_cast<double>(windows_);
    return std::sqrt(squares_ / weight_ * windows / (windows - 1)) / mean_;
}

double multiplex_error(double share, double enabled_ns, double interval_ns, const RateSpread& spread,
                       double window_ns) {
    if (share >= 1 || share <= 0 || enabled_ns <= 0 || interval_ns <= 0) return 0;
    const double counted_slices = std::max(1.0, share * enabled_ns / interval_ns);
    double variation = unknown_variation;
    if (spread.windows() >= enough_windows)
        variation = spread.coefficient_of_variation() * std::sqrt(std::max(1.0, share * window_ns / interval_ns));
    const double sampling = variation * std::sqrt((1 - share) / counted_slices);
    // Student's t for the few windows of a short run; 1.96 in the limit.
    const double quantile =
        spread.windows() >= enough_windows ? 1.96 + 2.5 / static_cast<double>(spread.windows() - 1) : 1.96;
    const double edges = edge_ns / (interval_ns * std::sqrt(counted_slices));
    return quantile * std::sqrt(sampling * sampling + edges * edges);
}

}  // namespace tmaprobe::counters::perf
