#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tmaprobe::experiments {

/// What the points of a sweep that are not measured yet will take, by what those took that are: a point takes what its
/// neighbours of other sizes take, the larger the more. It holds no clock.
class TimeLeft {
  public:
    /// Seconds that the timing of a point may take, and the smallest size: what else one takes shows with the first.
    TimeLeft(double seconds_per_point, std::uint64_t smallest)
        : seconds_per_point_(seconds_per_point), smallest_(smallest) {}

    /// A point of that size took so long.
    void add(std::uint64_t size, double seconds);

    /// Whether any point was measured: before, there is nothing to go by.
    bool known() const { return !measured_.empty(); }

    /// Seconds that a point of that size will take.
    double seconds_for(std::uint64_t size) const;

  private:
    double seconds_per_point_;
    std::uint64_t smallest_;
    std::map<std::uint64_t, std::vector<double>> measured_;
};

/// 0 to count - 1, each once: the last, the first, then always the middle of what lies furthest apart, so that the
/// first few show the whole range.
std::vector<std::size_t> spread_order(std::size_t count);

}  // namespace tmaprobe::experiments
