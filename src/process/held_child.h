#pragma once

#include <sys/types.h>

#include <functional>

#include "base/fd.h"
#include "base/result.h"

namespace tmaprobe::process {

/// A fork of this process that waits until it is released: counters can be opened on it, or it can be traced, before
/// its first instruction. It never begins if this process ends first. Whoever started it reaps it.
class HeldChild {
  public:
    enum class Life {
        its_own,
        ours,  ///< killed when the thread that started it ends
    };
    /// Forks. `body` runs in the child once it is released, and status 0 is its end when that returns. Errors: system.
    static Result<HeldChild> start(const std::function<void()>& body, Life life);

    pid_t pid() const { return pid_; }
    /// Errors: system when the child is gone.
    Result<> release();

  private:
    pid_t pid_ = -1;
    Fd go_;  ///< a byte written here releases the child
};

}  // namespace tmaprobe::process
