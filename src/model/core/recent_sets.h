#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tmaprobe::model::core {

/// Numbers in sets, of each set the most recent: the windows of code that an op cache holds.
class RecentSets {
  public:
    RecentSets(unsigned entries, unsigned ways)
        : ways_(std::max(1u, ways)), sets_(std::max<std::size_t>(1, entries / ways_)) {}
    /// Whether the number was there; it is afterwards.
    bool touch(std::uint64_t number) {
        std::vector<std::uint64_t>& set = sets_[number % sets_.size()];
        const auto found = std::find(set.begin(), set.end(), number);
        const bool hit = found != set.end();
        if (hit || set.size() == ways_)
            std::shift_right(set.begin(), hit ? found + 1 : set.end(), 1);
        else
            set.insert(set.begin(), number);
        set.front() = number;
        return hit;
    }

  private:
    std::size_t ways_;
    std::vector<std::vector<std::uint64_t>> sets_;
};

}  // namespace tmaprobe::model::core
