#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"

namespace tmaprobe::kernels {

/// Threads that work together, each bound to one CPU: the calling thread is member 0, the others are
/// started once and sleep between runs, so that counters on them see the work alone.
class Team {
  public:
    using Work = std::function<void(std::size_t member)>;

    /// One member per CPU; the first CPU is where the caller has bound itself. Empty: the caller alone.
    /// Errors: bad_usage for a CPU that does not exist or is not in this process's cpuset.
    static Result<std::unique_ptr<Team>> start(const std::vector<int>& cpus);
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team();

    std::size_t size() const { return cpus_.size(); }
    /// All members do their part, beginning together; returns when the last is done. In a forked child,
    /// which inherits no threads, they are started anew.
    void run(const Work& work);
    /// Kernel thread ids of the members besides the caller.
    std::vector<pid_t> thread_ids() const;

  private:
    struct Shared;
    explicit Team(std::vector<int> cpus);
    Result<> start_members();

    std::vector<int> cpus_;
    std::unique_ptr<Shared> shared_;
    pid_t process_ = 0;  ///< in which the members run
};

}  // namespace tmaprobe::kernels
