#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tmaprobe::model::core {

/// Which code windows the op cache holds: sets of least recently used windows.
class OpCache {
  public:
    OpCache(unsigned windows, unsigned ways)
        : ways_(std::max(1u, ways)), sets_(std::max<std::size_t>(1, windows / ways_)) {}
    /// Whether the window was there; it is afterwards.
    bool touch(std::uint64_t window) {
        std::vector<std::uint64_t>& set = sets_[window % sets_.size()];
        const auto found = std::find(set.begin(), set.end(), window);
        const bool hit = found != set.end();
        if (hit) set.erase(found);
        set.insert(set.begin(), window);
        if (set.size() > ways_) set.pop_back();
        return hit;
    }

  private:
    std::size_t ways_;
    std::vector<std::vector<std::uint64_t>> sets_;
};

}  // namespace tmaprobe::model::core
