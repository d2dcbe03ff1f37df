#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "process/running_threads.h"
#include "trace/snapshot.h"

namespace tmaprobe::trace {

/// When samples are taken, and what they may cost.
struct SamplingLimits {
    double share = 0.05;                        ///< of the sampled processes' processor time
    std::uint64_t first_after_ns = 10'000'000;  ///< of processor time
    std::uint64_t shortest_interval_ns = 20'000'000, longest_interval_ns = 4'000'000'000;
    int samples_per_interval = 8;  ///< then the interval doubles
};

/// A copy, and when it was made.
struct Sample {
    Snapshot snapshot;
    double at_ns = 0;  ///< processor time of all threads until then, as far as it could be sampled
    double share = 1;  ///< of the processor time of all, that its thread used just then
};

/// What the samples took from the sampled processes.
struct SamplingCost {
    std::size_t copies = 0;
    std::uint64_t longest_pause_ns = 0, total_pause_ns = 0;
    double looks_ns = 0;             ///< what else looks at them, as it was told
    std::uint64_t copied_pages = 0;  ///< page faults while copies were there: no more than these were because of them
};

/// Chooses moments and threads: at moments spread over the run, one of the threads that run just then, in proportion to
/// the processor time that each uses.
class Sampler {
  public:
    /// `processes`: to be sampled with their descendants.
    /// `reaper`: as take_snapshot().
    Sampler(std::vector<pid_t> processes, SamplingLimits limits, pid_t reaper);

    /// When take() is worth calling next, by process::now_ns().
    std::uint64_t next_ns() const { return next_ns_; }
    /// Looks who runs, and tries to copy one of them. Takes some milliseconds, in which the processes run on.
    std::optional<Sample> take();
    /// The same of a process that stands at the end of its exec, traced by us, which lets it go.
    std::optional<Sample> take_after_exec(pid_t process);
    /// To be called every few milliseconds while it says so.
    bool settle() {
        ending_.settle();
        return !ending_.empty();
    }
    /// A copy is gone. These processes are copies while they are there, and never sampled.
    void copy_is_gone(const Snapshot& meta, pid_t copy);

    const SamplingCost& cost() const { return cost_; }
    /// Somebody else takes time of what is sampled, too: all of it is to be within the limits.
    void note_looks(double all_ns) { cost_.looks_ns = all_ns; }
    /// Attempts that gave no copy, by reason.
    const std::map<Missed, std::size_t>& missed() const { return missed_; }
    /// Of the last that failed with more to say.
    const std::string& why_missed() const { return why_missed_; }
    double processor_ns() const { return processor_ns_; }
    /// Those that were there at the last look.
    const std::vector<process::ThreadUse>& threads() const { return threads_; }
    /// Of all threads until now, as far as it could be sampled, as a sample's: from the last look on, as it was then.
    double sampled_ns() const;
    /// Of it in the kernel, as far as the kernel's own figures tell.
    double system_ns() const { return system_ns_; }
    /// Threads that were seen at any look.
    std::size_t threads_seen() const { return seen_.size(); }

  private:
    struct Look {
        std::uint64_t at_ns = 0;
        std::map<pid_t, std::uint64_t> used_ns;
        std::vector<process::ThreadUse> threads;
        std::uint64_t all_used_ns = 0, all_system_ns = 0;  ///< of these and of children that have ended
        std::map<pid_t, std::uint64_t> processes;          ///< what their children that have ended had used
    };
    /// Processor time up to a look, or to a moment at which a thread stood.
    struct Booked {
        std::map<pid_t, std::uint64_t> used_ns, processes;
        std::uint64_t at_ns = 0;
        double sampled_ns = 0;
    };
    Look look();
    void book(const Look& before, const Look& now, std::size_t running);
    void book_stop(const Snapshot& snapshot);
    std::optional<Sample> copy_one_of(std::vector<process::ThreadUse> running);
    /// After how much processor time of theirs a copy of so many bytes is within the limits.
    double affordable_after_ns(std::uint64_t resident_bytes) const;
    void note(const SnapshotAttempt& attempt);

    process::Descendants processes_;
    EndingThreads ending_;
    pid_t reaper_;
    bool only_children_ = false;
    SamplingLimits limits_;
    std::mt19937_64 random_{1};  // the same choice each time, as far as the machine allows
    std::uint64_t next_ns_, interval_ns_;
    double processor_ns_ = 0, system_ns_ = 0;  ///< seen so far
    Booked booked_;
    double affordable_after_ns_ = 0;  ///< at the last attempt
    double rate_ = 0;                 ///< processor time by time on the wall, until the last look
    int samples_ = 0;
    std::set<pid_t> seen_;
    std::vector<process::ThreadUse> threads_;
    std::optional<std::uint64_t> used_at_first_look_ns_;
    std::uint64_t system_at_first_look_ns_ = 0;
    SamplingCost cost_;
    std::map<Missed, std::size_t> missed_;
    std::string why_missed_;
};

}  // namespace tmaprobe::trace
