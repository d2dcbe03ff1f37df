#include "counters/perf/latency_sampling.h"

#include <linux/perf_event.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace tmaprobe::counters::perf {
namespace {

/// Of each event, while it has a counter; four to eight have one at a time, so that a CPU is interrupted some thousand
/// times a second at most, for some microseconds in all of a millisecond. A prime, so as not to run with a timer.
constexpr std::uint64_t samples_per_second = 499;
/// The same in a turn, of which there is one in five.
constexpr std::uint64_t samples_per_second_of_turn = 1999;
constexpr std::uint64_t turns_left_out = 4;

void set_timer(const Fd& timer, std::uint64_t after_ns) {
    constexpr std::uint64_t second = 1'000'000'000;
    const itimerspec when{{}, {static_cast<time_t>(after_ns / second), static_cast<long>(after_ns % second)}};
    (void)::timerfd_settime(timer.get(), 0, &when, nullptr);
}

record::NoLatency why_missing(int error) {
    if (error == 0) return record::NoLatency::none;
    return error == EACCES || error == EPERM ? record::NoLatency::no_permission : record::NoLatency::not_precise;
}

}  // namespace

std::vector<SampledLatency> all_missing(const std::vector<PlannedEvent>& latencies, record::NoLatency why) {
    std::vector<SampledLatency> missing;
    for (const PlannedEvent& event : latencies) missing.push_back({event, {}, 0, why});
    return missing;
}

LatencySampling LatencySampling::open(const std::vector<PlannedEvent>& latencies, const CountingTarget& target,
                                      std::uint64_t turn_ns) {
    if (latencies.empty()) return {};
    LatencySampling sampling;
    const SamplingRequest request{PERF_SAMPLE_WEIGHT_STRUCT,
                                  turn_ns > 0 ? samples_per_second_of_turn : samples_per_second, 1};
    auto sampler = Sampler::open(latencies, target, request);
    if (!sampler) {
        log::detail("latencies at retirement are not sampled: {}", sampler.error().what);
        return LatencySampling(all_missing(latencies, record::NoLatency::no_room));
    }
    sampling.sampled_ = all_missing(latencies, record::NoLatency::none);
    for (std::size_t event = 0; event < latencies.size(); ++event)
        sampling.sampled_[event].missing = why_missing(sampler->errors()[event]);
    sampling.sampler_ = std::move(*sampler);
    if (turn_ns == 0) return sampling;
    sampling.turn_over_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (sampling.turn_over_ && sampling.sampler_->wake_by(sampling.turn_over_.get())) sampling.turn_ns_ = turn_ns;
    return sampling;
}

std::size_t LatencySampling::events() const {
    return static_cast<std::size_t>(std::ranges::count(sampled_, record::NoLatency::none, &SampledLatency::missing));
}

void LatencySampling::begin() {
    wanted_ = has_turn_ = true;
    if (turn_ns_ > 0) set_timer(turn_over_, turn_ns_);
}

void LatencySampling::enable() {
    if (!any()) return;
    if (const auto started = sampler_->enable(); !started) log::detail("{}", started.error().what);
    begin();
}

void LatencySampling::disable() {
    if (!any()) return;
    (void)sampler_->disable();
    wanted_ = has_turn_ = false;
}

/// At the end of a turn, or when the next one comes.
void LatencySampling::take_turn() {
    std::uint64_t times = 0;
    if (turn_ns_ == 0 || ::read(turn_over_.get(), &times, sizeof times) <= 0 || !wanted_) return;
    has_turn_ = !has_turn_;
    (void)(has_turn_ ? sampler_->enable() : sampler_->disable());
    set_timer(turn_over_, has_turn_ ? turn_ns_ : turns_left_out * turn_ns_);
}

void LatencySampling::drain() {
    if (!any()) return;
    take_turn();
    sampler_->drain([&](std::size_t event, const SampleRecord& sample) {
        sampled_[event].sums.add(sample.retire_latency, static_cast<double>(sample.period));
    });
    for (std::size_t event = 0; event < sampled_.size(); ++event) sampled_[event].lost = sampler_->lost()[event];
}

void LatencySampling::reset() {
    drain();
    for (SampledLatency& one : sampled_) one.sums = {};
}

std::vector<SampledLatency> LatencySampling::finish() {
    drain();
    return sampled_;
}

}  // namespace tmaprobe::counters::perf
