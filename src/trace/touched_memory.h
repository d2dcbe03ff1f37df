#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/fd.h"
#include "trace/remote_calls.h"

namespace tmaprobe::trace {

/// Gives a stopped copy private memory in place of what its original shares with others: with what that has touched
/// of it. To read further pages would make them exist for all who share it, so what is left out is a fault in the copy,
/// which ends its window.
class TouchedMemory {
  public:
    TouchedMemory(pid_t original, pid_t copy, RemoteCalls& calls);

    /// At these addresses, with this protection (PROT_*). `replaces`: the copy has something there. False: it has
    /// that still, or nothing.
    bool bring_in(std::uint64_t begin, std::uint64_t end, int protection, bool replaces);

  private:
    bool map(std::uint64_t begin, std::uint64_t end, int protection, int fixed);

    pid_t original_;
    RemoteCalls& calls_;
    Fd memory_, touched_;
    std::uint64_t room_;  ///< bytes that may be copied still
};

}  // namespace tmaprobe::trace
