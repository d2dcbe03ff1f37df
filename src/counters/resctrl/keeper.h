#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace tmaprobe::counters::resctrl {

/// A process that waits until this one is gone, however it went (SIGKILL, a crash, power of the terminal), and
/// then removes the groups that it made under a resctrl root. While it lives, a killed run leaves nothing.
class Keeper {
  public:
    /// Errors: system.
    static Result<Keeper> start(const std::filesystem::path& root);
    Keeper(Keeper&& other) noexcept;
    Keeper& operator=(Keeper&& other) noexcept;
    /// Ends it. Groups must have been removed before.
    ~Keeper();

  private:
    Keeper() = default;
    pid_t pid_ = -1;
    Fd life_;
};

}  // namespace tmaprobe::counters::resctrl
