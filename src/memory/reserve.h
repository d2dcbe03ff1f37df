#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "memory/limits.h"

namespace tmaprobe::memory {

/// Huge pages of one size that must be free in a pool.
struct PoolNeed {
    PageMode mode;
    std::uint64_t pages = 0;
    std::optional<int> numa_node;
};

/// What was done to one pool.
struct PoolChange {
    std::string pages;               ///< "2m"
    std::uint64_t from = 0, to = 0;  ///< pages in the pool
};

/// Owns huge pages that were reserved for one run and gives them back when it ends, however it ends: a small process
/// waits for that, which no Ctrl-C reaches, and takes from each pool what it has put there. It is the only one that
/// writes to the pools; should it be killed itself, the pages stay.
class ReservedPages {
  public:
    /// Raises each pool as far as its free pages do not suffice. Errors: no_permission where the pool may not be
    /// written (with the command for root); unavailable when the kernel finds fewer pages: then nothing stays reserved.
    static Result<ReservedPages> reserve(const std::vector<PoolNeed>& needs, const SystemFiles& files);
    ReservedPages() = default;
    ReservedPages(ReservedPages&& other) noexcept;
    ReservedPages& operator=(ReservedPages&& other) noexcept;
    ~ReservedPages();

    /// The pools that were raised; empty when all had enough.
    const std::vector<PoolChange>& changes() const { return changes_; }
    /// Gives them back now. Errors: system when a pool could not be written.
    Result<> give_back();

  private:
    pid_t keeper_ = -1;
    Fd life_;     ///< the keeper gives back when the other end sees that this is closed
    Fd answers_;  ///< what the keeper says
    std::vector<PoolChange> changes_;
};

}  // namespace tmaprobe::memory
