#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/fd.h"
#include "counters/perf/sample_ring.h"

namespace tmaprobe::counters::perf {

/// Where threads are in their own code, looked at by the kernel's timer once in a millisecond of their processor time,
/// and after the first second once in four. A software event: no counter is needed, and nothing is stopped. Where the
/// kernel does not allow it, nothing is seen.
class TimeProfile {
  public:
    TimeProfile() = default;
    TimeProfile(const TimeProfile&) = delete;
    TimeProfile& operator=(const TimeProfile&) = delete;

    /// From now on looks at this thread, too; once for each. Those beyond some dozens are left out.
    void add(pid_t process, pid_t thread);
    /// Takes in what has been seen. To be called every few seconds: what does not fit is not kept.
    void read();

    /// How often each address was met, by process; a look that stands for several milliseconds counts as so many.
    using Looks = std::map<std::uint64_t, std::uint64_t>;
    const std::map<pid_t, Looks>& looks() const { return looks_; }
    /// What the looks that stand for most count.
    std::uint64_t most_of_a_look() const { return most_of_a_look_; }
    /// How many there were, and how many there was no room for.
    std::uint64_t taken() const { return taken_; }
    std::uint64_t lost() const { return lost_; }
    /// Threads that are not looked at: they are too many, or the kernel does not allow it.
    std::uint64_t left_out() const { return known_.size() - watched_.size(); }
    /// Nanoseconds of a thread's processor time between two of its looks, as long as none stands for more.
    static std::uint64_t apart_ns();
    /// About what they took from the threads.
    double cost_ns() const;

  private:
    struct Watched {
        pid_t process = 0;
        Fd event;
        SampleRing ring;
        std::uint64_t counts = 1, sum = 0;  ///< a look; all so far
    };
    void read(Watched& watched);
    void look_less(Watched& watched);

    std::vector<Watched> watched_;
    RingRecords records_;    ///< of one reading, kept for its room
    std::set<pid_t> known_;  ///< threads
    std::map<pid_t, Looks> looks_;
    std::uint64_t taken_ = 0, lost_ = 0, most_of_a_look_ = 1;
};

}  // namespace tmaprobe::counters::perf
