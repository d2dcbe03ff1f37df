#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "trace/touched_runs.h"

namespace tmaprobe::trace {

/// Which pages a process has memory for without having touched them: the kernel clears each when it is first touched,
/// so that a cache holds it then.
class UntouchedPages {
  public:
    /// Of a process as it is now; none where the kernel does not say. What it maps later counts as untouched, since
    /// most of that is memory, and no file.
    static UntouchedPages of_process(pid_t pid);
    /// Nothing is known: none.
    UntouchedPages() = default;

    /// Whether a page of 4 KiB at this address is one, or memory that was mapped later.
    bool contains(std::uint64_t address) const;

  private:
    struct Area {
        std::uint64_t begin = 0, end = 0;
        bool is_known = false;  ///< which of its pages are touched; else all count as such
    };

    std::vector<Area> areas_;          ///< all that is mapped, by address
    std::vector<TouchedRun> touched_;  ///< in those that are known, by address
};

}  // namespace tmaprobe::trace
