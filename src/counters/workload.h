#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tmaprobe::counters {

/// What a source measures once: either a region of code in this process, or a command to start.
class Workload {
  public:
    virtual ~Workload() = default;
    /// The command's argv; empty: an in-process region.
    virtual std::vector<std::string> command() const { return {}; }
    /// Called before each run of the region, outside what is measured.
    virtual void prepare() {}
    /// Back to where the region began at first: what run() does from then on is the same each time.
    virtual void restart() {}
    /// Runs the region once with this many iterations (in-process only).
    virtual void run(std::uint64_t iterations) = 0;
    /// How many of the operations that its time is given by are in an iteration.
    virtual double operations_per_iteration() const { return 1; }
    /// True when there is nothing to run: what the scope names is counted until it ends or a signal comes.
    virtual bool only_waits() const { return false; }
    /// Thread ids to count besides the calling one; empty: the calling thread alone.
    virtual std::vector<pid_t> threads() const { return {}; }
};

}  // namespace tmaprobe::counters
