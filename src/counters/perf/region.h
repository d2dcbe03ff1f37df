#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/perf/collect.h"
#include "counters/perf/counter_set.h"
#include "counters/workload.h"

namespace tmaprobe::counters::perf {

/// What starting and stopping the counters costs, found by bracketing nothing at all.
struct Overhead {
    double pair_ns = 0;          ///< wall time of one start and stop, median
    std::vector<double> counts;  ///< per opened event: what an empty pair counts, median
};

/// Counters around a region of code in this process, opened once and used again.
class Region {
  public:
    /// Errors: as CounterSet::open. `user_space_reads` asks for rdpmc, which is used when every hardware
    /// event of the pass can be read so.
    static Result<Region> open(const Pass& pass, const std::vector<pid_t>& threads, bool user, bool kernel,
                               bool user_space_reads);

    struct Measured {
        std::uint64_t elapsed_ns = 0;     ///< wall time
        std::uint64_t elapsed_ticks = 0;  ///< the same by the time-stamp counter, see Instant
        Span whole;
        std::vector<Span> windows;  ///< of a region measured in parts; the parts add up to the whole
        Residency residency;        ///< on hybrids
    };
    /// Runs the workload once between start and stop, in up to `parts` parts between which the counters are
    /// read but not stopped. What the spans point to lives until the next call.
    Result<Measured> measure(Workload& workload, std::uint64_t iterations, std::size_t parts = 1);

    const CounterSet& set() const { return set_; }
    const Overhead& overhead() const { return overhead_; }
    std::string method() const { return bracketing_ == Bracketing::read_twice ? "rdpmc" : "ioctl"; }

  private:
    Result<> learn_overhead();
    CounterSet set_;
    std::optional<ResidencyCounters> residency_;
    Bracketing bracketing_ = Bracketing::started_and_stopped;
    Overhead overhead_;
    Result<Measured> measure_started(Workload& workload, std::uint64_t iterations, std::size_t parts);
    void read_undisturbed(std::vector<RawCount>& counts, CounterSet::Order order);
    Measured measure_running(Workload& workload, std::uint64_t iterations);
    std::uint64_t quickest_read_ns_ = ~std::uint64_t{0};
    std::vector<std::vector<RawCount>> counts_;  ///< before, after each part
};

}  // namespace tmaprobe::counters::perf
