#include "counters/latency.h"

#include <algorithm>
#include <cmath>

#include "metrics/expression.h"

namespace tmaprobe::counters {
namespace {

/// Student's t that 2.5% lie above, by the first terms of its Cornish-Fisher expansion: within 1% from five degrees of
/// freedom on.
double student_t(double degrees_of_freedom) {
    constexpr double z = 1.959964;  // 2.5% of a normal distribution lie above
    constexpr double first = (z * z * z + z) / 4;
    constexpr double second = (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / 96;
    return z + first / degrees_of_freedom + second / (degrees_of_freedom * degrees_of_freedom);
}

}  // namespace

void LatencySums::add(double cycles, double events) {
    const double weight = std::max(1.0, events);
    ++samples_;
    weight_ += weight;
    weights_squared_ += weight * weight;
    const double difference = cycles - mean_;
    mean_ += difference * weight / weight_;
    squares_ += weight * difference * (cycles - mean_);
}

void LatencySums::add(const LatencySums& more) {
    if (more.samples_ == 0) return;
    const double difference = more.mean_ - mean_, both = weight_ + more.weight_;
    squares_ += more.squares_ + difference * difference * weight_ * more.weight_ / both;
    mean_ += difference * more.weight_ / both;
    weight_ = both;
    weights_squared_ += more.weights_squared_;
    samples_ += more.samples_;
}

double LatencySums::effective_samples() const {
    return weights_squared_ > 0 ? weight_ * weight_ / weights_squared_ : 0;
}

double LatencySums::half_interval() const {
    const double count = effective_samples();
    if (count < 2) return 0;
    const double variance = squares_ / weight_ * count / (count - 1);
    return student_t(count - 1) * std::sqrt(variance / count);
}

void add_latencies(const std::vector<SampledLatency>& run, std::vector<SampledLatency>& all) {
    for (const SampledLatency& one : run) {
        const auto known = std::ranges::find_if(all, [&](const SampledLatency& other) {
            return other.event.name == one.event.name && other.event.definition.pmu == one.event.definition.pmu;
        });
        if (known == all.end()) {
            all.push_back(one);
            continue;
        }
        known->sums.add(one.sums);
        known->lost += one.lost;
        // What one run could not sample, another has.
        if (known->missing != record::NoLatency::none) known->missing = one.missing;
    }
}

record::RetireLatency latency_of(const SampledLatency& sampled) {
    using enum record::NoLatency;
    const LatencySums& sums = sampled.sums;
    record::RetireLatency latency;
    latency.event = metrics::without_escapes(sampled.event.name);
    latency.pmu = sampled.event.definition.pmu.empty() ? "cpu" : sampled.event.definition.pmu;
    latency.key = sampled.event.key;
    latency.samples = sums.samples();
    latency.lost = sampled.lost;
    latency.missing = sampled.missing;
    if (latency.missing != none) return latency;
    if (sums.samples() == 0)
        latency.missing = no_samples;
    else if (sums.mean() == 0)
        latency.missing = always_zero;
    else if (sums.effective_samples() < fewest_latency_samples)
        latency.missing = too_few_samples;
    if (latency.missing != none) return latency;
    latency.mean = sums.mean();
    latency.low = std::max(0.0, latency.mean - sums.half_interval());
    latency.high = latency.mean + sums.half_interval();
    return latency;
}

}  // namespace tmaprobe::counters
