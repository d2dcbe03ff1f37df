#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "counters/perf/sample_ring.h"

namespace tmaprobe::counters::perf {

/// What decides when a look is taken at a thread.
enum class LooksBy {
    cycles,  ///< that the thread used in its own code: counted by the CPU, which interrupts it
    time,    ///< processor time of the thread: by the kernel's timer, which needs no counter
};

/// An event that notes where a thread is in its own code each time that it has counted so many.
struct LookEvent {
    LooksBy by = LooksBy::time;
    Fd event;
    SampleRing ring;
    std::uint64_t every = 0;            ///< cycles or nanoseconds between looks at first
    bool any_period = true;             ///< else a multiple of 16
    std::uint64_t counts = 1, sum = 0;  ///< what a look counts, of those that are `every` apart; all so far

    /// From now on takes one look where it took two, where the kernel lets it.
    void look_less();
    /// Whether it has been there for long enough, and either never had a counter, or has counted and no look came. Asks
    /// the kernel.
    bool is_of_no_use() const;
};

/// Opens them, of all threads alike.
class LookEvents {
  public:
    /// Of a thread, on each kind of core that the machine has: all or none, already started. Cycles: as precise as the
    /// CPU can (PEBS, IBS), which is found out at the first thread. Errors: errno of what was refused last.
    Result<std::vector<LookEvent>> open(pid_t thread, LooksBy by);
    /// errno of the last open() that failed; 0: none did.
    int error() const { return error_; }
    /// How precise the least precise cycles are that were opened, as perf's precise_ip.
    unsigned precision() const;
    /// How many of what is counted are between two looks that count so much (1, 2 or 4).
    static std::uint64_t period(LooksBy by, std::uint64_t counts);

  private:
    /// How cycles can be had: which the kernel takes depends on the CPU.
    struct Way {
        unsigned precise = 0;        ///< as perf's precise_ip
        bool without_guests = true;  ///< not what virtual machines do that the thread runs
        bool by_ibs = false;         ///< AMD's, where what is left out is left out by the kernel
    };
    static std::vector<Way> ways();
    std::optional<LookEvent> open_cycles(pid_t thread, std::uint64_t config, std::optional<Way>& way);
    std::optional<LookEvent> open_cycles(pid_t thread, std::uint64_t config, const Way& way);
    std::optional<LookEvent> open_time(pid_t thread);
    std::optional<LookEvent> with_ring(LooksBy by, Fd event, std::uint64_t every, bool any_period);

    std::vector<std::optional<Way>> ways_;  ///< by kind of core, once it is known
    int error_ = 0;
};

}  // namespace tmaprobe::counters::perf
