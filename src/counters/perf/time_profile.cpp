#include "counters/perf/time_profile.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace tmaprobe::counters::perf {
namespace {

constexpr std::uint64_t period_ns = 1'000'000;
// A timer of a virtual machine is dear: on Zen 4 under KVM a look takes 14 us, 1.4% of a millisecond.
constexpr double look_ns = 14e3;
constexpr std::uint64_t most_counts = 4, looks_less_after = 500;
constexpr std::size_t most_watched = 32;
constexpr std::uint64_t sample_fields = PERF_SAMPLE_IP;
constexpr std::size_t data_pages = 16;  ///< a power of two; of 4k they hold some 4,000 looks

}  // namespace

void TimeProfile::add(pid_t process, pid_t thread) {
    if (!known_.insert(thread).second || watched_.size() >= most_watched) return;
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = period_ns;
    attributes.sample_type = sample_fields;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    Fd event(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event) return;
    auto ring = SampleRing::map(event.get(), data_pages);
    if (!ring) return;
    watched_.push_back({process, std::move(event), std::move(*ring)});
}

std::uint64_t TimeProfile::apart_ns() { return period_ns; }

double TimeProfile::cost_ns() const { return look_ns * static_cast<double>(taken_); }

void TimeProfile::read() {
    for (Watched& one : watched_) {
        read(one);
        if (one.counts < most_counts && one.sum >= looks_less_after * one.counts) look_less(one);
    }
}

void TimeProfile::look_less(Watched& watched) {
    std::uint64_t longer_ns = 2 * watched.counts * period_ns;
    if (::ioctl(watched.event.get(), PERF_EVENT_IOC_PERIOD, &longer_ns) != 0) return;
    watched.counts *= 2;
    most_of_a_look_ = std::max(most_of_a_look_, watched.counts);
}

void TimeProfile::read(Watched& watched) {
    records_.samples.clear();
    records_.lost.clear();
    watched.ring.drain(sample_fields, records_);
    for (const SampleRecord& look : records_.samples) looks_[watched.process][look.address] += watched.counts;
    watched.sum += watched.counts * records_.samples.size();
    taken_ += records_.samples.size();
    for (const LostSamples& lost : records_.lost) lost_ += lost.count;
}

}  // namespace tmaprobe::counters::perf
