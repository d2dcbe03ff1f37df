#include "counters/perf/time_profile.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace tmaprobe::counters::perf {
namespace {

// An interrupt of a virtual machine is dear: by its timer, on Zen 4 under KVM, a look takes 14 us, 1.4% of a
// millisecond.
constexpr double look_ns = 14e3;
constexpr std::uint64_t most_counts = 4, looks_less_after = 500;
constexpr std::size_t most_watched = 32, most_in_order = 1 << 16;

}  // namespace

void TimeProfile::add(pid_t process, pid_t thread) {
    if (!known_.insert(thread).second || watched_.size() >= most_watched) return;
    auto events = events_.open(thread, by_);
    // The first thread shows what can be had here. One that is over already shows nothing.
    if (!events && by_ == LooksBy::cycles && !any_way_ && events_.error() != ESRCH) {
        go_on_by_time(std::strerror(events_.error()));
        events = events_.open(thread, by_);
    }
    if (!events) return;
    any_way_ = true;
    ++order_[process].threads;
    watched_.push_back({process, thread, std::move(*events)});
}

const std::vector<TimeProfile::Look>& TimeProfile::in_order(pid_t process) const {
    static const std::vector<Look> none;
    const auto found = order_.find(process);
    return found != order_.end() && found->second.threads == 1 ? found->second.looks : none;
}

double TimeProfile::cost_ns() const { return look_ns * static_cast<double>(taken_); }

void TimeProfile::read() {
    for (Watched& one : watched_)
        for (LookEvent& event : one.events) {
            read(one.process, event);
            if (event.counts < most_counts && event.sum >= looks_less_after * event.counts) event.look_less();
        }
    if (by_ != LooksBy::cycles || taken_ > 0) return;
    const bool of_no_use = std::ranges::any_of(
        watched_, [](const Watched& one) { return std::ranges::all_of(one.events, &LookEvent::is_of_no_use); });
    if (of_no_use) go_on_by_time("no look came");
}

/// As nothing was seen until now, all looks are alike.
void TimeProfile::go_on_by_time(const std::string& why) {
    log::detail("where threads are is looked at by the kernel's timer, not by cycles: {}", why);
    by_ = LooksBy::time;
    for (Watched& one : watched_) {
        one.events.clear();
        if (auto events = events_.open(one.thread, by_)) one.events = std::move(*events);
    }
    std::erase_if(watched_, [](const Watched& one) { return one.events.empty(); });
}

void TimeProfile::read(pid_t process, LookEvent& event) {
    records_.samples.clear();
    records_.lost.clear();
    event.ring.drain(PERF_SAMPLE_IP, records_);
    Order& order = order_[process];
    for (const SampleRecord& look : records_.samples) {
        looks_[process][look.address] += event.counts;
        order.so_far += event.counts;
        if (order.looks.size() < most_in_order) order.looks.push_back({look.address, order.so_far});
    }
    const std::uint64_t looks = records_.samples.size();
    if (looks > 0) most_of_a_look_ = std::max(most_of_a_look_, event.counts);
    event.sum += event.counts * looks;
    taken_ += looks;
    sum_ += static_cast<double>(event.counts * looks);
    sum_of_squares_ += static_cast<double>(event.counts * event.counts * looks);
    for (const LostSamples& lost : records_.lost) lost_ += lost.count;
}

}  // namespace tmaprobe::counters::perf
