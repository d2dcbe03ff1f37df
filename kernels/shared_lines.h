#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kernels/team.h"
#include "memory/pages.h"

namespace tmaprobe::kernels {

/// Two pages for lines that threads share: one first touched by the team's first member, one by its last,
/// so that each lies on that member's NUMA node. A kernel that spends half of its time on each does not
/// favour either side.
class SharedLines {
  public:
    static constexpr std::size_t line_bytes = 64, lines = 64;

    /// Errors: those of memory::Buffer::map.
    static Result<SharedLines> make(Team& team, std::optional<int> numa_node);

    /// The line of that number (below `lines`) on the page of home 0 or 1.
    std::byte* line(std::size_t home, std::size_t number) const {
        return buffer_.data() + home * memory::base_page_bytes() + number * line_bytes;
    }

  private:
    explicit SharedLines(memory::Buffer buffer) : buffer_(std::move(buffer)) {}
    memory::Buffer buffer_;
};

/// Errors: bad_usage when a CPU is named twice: threads that wait for each other need one each.
Result<> check_distinct(const std::vector<int>& cpus);

/// The first CPUs that this process may run on, for a caller that named none. Errors: unavailable when
/// there are fewer than `count`.
Result<std::vector<int>> first_cpus(std::size_t count);

}  // namespace tmaprobe::kernels
