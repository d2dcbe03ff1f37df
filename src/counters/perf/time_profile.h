#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "counters/perf/look_events.h"
#include "counters/perf/sample_ring.h"

namespace tmaprobe::counters::perf {

/// Where threads are in their own code, looked at about once in a millisecond of their processor time, and after the
/// first second once in four: by cycles that the CPU counts, as precise as it can, or by the kernel's timer where it
/// cannot count or interrupt. Nothing is stopped. Where the kernel allows neither, nothing is seen.
class TimeProfile {
  public:
    /// One of a process's looks.
    struct Look {
        std::uint64_t address = 0;
        std::uint64_t so_far = 0;  ///< looks at the process up to this one, as looks() counts them
    };

    TimeProfile() = default;
    TimeProfile(const TimeProfile&) = delete;
    TimeProfile& operator=(const TimeProfile&) = delete;

    /// From now on looks at this thread, too; once for each. Those beyond some dozens are left out. All are looked at
    /// in the same way, as what they are met at is compared.
    void add(pid_t process, pid_t thread);
    /// Takes in what has been seen. To be called every few seconds: what does not fit is not kept. Goes on by the timer
    /// where cycles turn out to tell nothing: others may have all counters, and virtual machines lose interrupts.
    void read();

    /// How often each address was met, by process; a look that stands for several others counts as so many.
    using Looks = std::map<std::uint64_t, std::uint64_t>;
    const std::map<pid_t, Looks>& looks() const { return looks_; }
    /// Of a process with one thread, its looks in the order in which they were, of a long one the first; of others
    /// none.
    const std::vector<Look>& in_order(pid_t process) const;
    /// What a look weighs: those that looks() counts tell as much as so many times fewer that are alike (1 where all
    /// count once). The squares of what they count over its sum, L. Kish, Survey Sampling, 1965.
    double weight_of_a_look() const { return sum_ > 0 ? sum_of_squares_ / sum_ : 1; }
    /// How many there were, and how many there was no room for.
    std::uint64_t taken() const { return taken_; }
    std::uint64_t lost() const { return lost_; }
    /// Threads that are not looked at: they are too many, or the kernel does not allow it.
    std::uint64_t left_out() const { return known_.size() - watched_.size(); }
    /// What decides when to look: while no thread could be looked at, time.
    LooksBy by() const { return any_way_ ? by_ : LooksBy::time; }
    /// How exact the addresses are, as perf's precise_ip; 0: some instructions late.
    unsigned precision() const { return by() == LooksBy::cycles ? events_.precision() : 0; }
    /// Cycles of a thread, or nanoseconds of its processor time, between two of its looks where they are furthest
    /// apart.
    std::uint64_t furthest_apart() const { return LookEvents::period(by(), most_of_a_look_); }
    /// About what they took from the threads.
    double cost_ns() const;

  private:
    struct Watched {
        pid_t process = 0, thread = 0;
        std::vector<LookEvent> events;
    };
    void read(pid_t process, LookEvent& event);
    void go_on_by_time(const std::string& why);

    LookEvents events_;
    LooksBy by_ = LooksBy::cycles;
    bool any_way_ = false;  ///< a thread is looked at, or was
    std::vector<Watched> watched_;
    RingRecords records_;    ///< of one reading, kept for its room
    std::set<pid_t> known_;  ///< threads
    struct Order {
        std::size_t threads = 0;
        std::uint64_t so_far = 0;
        std::vector<Look> looks;
    };
    std::map<pid_t, Looks> looks_;
    std::map<pid_t, Order> order_;
    std::uint64_t taken_ = 0, lost_ = 0, most_of_a_look_ = 1;
    double sum_ = 0, sum_of_squares_ = 0;  ///< of what looks count
};

}  // namespace tmaprobe::counters::perf
