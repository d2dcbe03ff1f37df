#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

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
        std::vector<bool> touched;  ///< by page; empty: all of it
    };
    void add(std::uint64_t begin, std::uint64_t end, int pages_of_process);

    std::vector<Area> areas_;  ///< by address
    std::uint64_t looked_at_ = 0;
};

}  // namespace tmaprobe::trace
