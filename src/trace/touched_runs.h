#pragma once

#include <cstdint>
#include <vector>

namespace tmaprobe::trace {

/// Pages one after the other that a process has in its page tables, or had and were swapped out.
struct TouchedRun {
    std::uint64_t begin = 0, end = 0;
};

/// Those between two addresses, in order; `pagemap`: the process's, open for reading.
std::vector<TouchedRun> touched_runs(int pagemap, std::uint64_t begin, std::uint64_t end);

}  // namespace tmaprobe::trace
