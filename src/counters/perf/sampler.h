#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "counters/perf/counter_set.h"
#include "counters/perf/sample_ring.h"

namespace tmaprobe::counters::perf {

/// How events are sampled.
struct SamplingRequest {
    std::uint64_t fields = 0;      ///< PERF_SAMPLE_* beside the event's id and period, of readable_fields()
    std::uint64_t per_second = 0;  ///< samples of each event on each CPU or thread, while it has a counter: at most
    unsigned precise = 0;          ///< as perf's precise_ip, at least; 0: an address may lie some instructions late
};

/// Events whose samples the kernel writes into rings, one ring for each CPU (where CPUs are named, or what a program
/// starts is sampled too) or for each thread. Each event is a group of its own, so that it takes a counter that is left
/// over where there is one, and its turn with all others where there is none. The kernel chooses the periods so that
/// about as many samples come as were asked for.
class Sampler {
  public:
    /// Opens what can be opened, stopped (or to be started by exec, as the target says); errors() has the rest.
    /// Errors: no room for open files or rings, for which nothing would be sampled.
    static Result<Sampler> open(const std::vector<PlannedEvent>& events, const CountingTarget& target,
                                const SamplingRequest& request);

    /// By event: errno of its open; 0: it is open on some CPU or thread at least.
    const std::vector<int>& errors() const { return errors_; }
    bool any_open() const;
    /// Starts and stops all events. Errors: errno of the first failure.
    Result<> enable();
    Result<> disable();

    /// Readable when a ring is half full; -1: nobody can tell.
    int descriptor() const { return wakes_.get(); }
    /// And when this other descriptor is. False: it cannot be.
    bool wake_by(int descriptor);
    /// What has come since the last call, of which event of open()'s.
    void drain(const std::function<void(std::size_t event, const SampleRecord&)>& on_sample);
    /// By event: samples that the kernel had no room for, as far as it tells whose they were.
    const std::vector<std::uint64_t>& lost() const { return lost_; }

  private:
    struct Slot {
        int cpu = -1;      ///< -1: any
        pid_t thread = 0;  ///< -1: whatever runs there
    };
    int open_one(std::size_t event, const PlannedEvent& planned, const CountingTarget& target, const Slot& slot,
                 const SamplingRequest& request);
    int give_ring(const Fd& opened, const Slot& slot);
    Result<> control(unsigned long request, const char* what);

    std::uint64_t fields_ = 0;
    std::vector<Fd> opened_;
    std::vector<SampleRing> rings_;
    std::map<int, int> ring_owners_;  ///< by CPU, or by thread where it is any CPU: whose ring the others write to
    std::map<std::uint64_t, std::size_t> events_by_id_;
    std::vector<int> errors_;
    std::vector<std::uint64_t> lost_;
    Fd wakes_;
    RingRecords records_;
};

}  // namespace tmaprobe::counters::perf
