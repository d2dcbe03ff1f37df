#include "experiments/time_left.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

namespace tmaprobe::experiments {
namespace {

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

void TimeLeft::add(std::uint64_t size, double seconds) { measured_[size].push_back(seconds); }

double TimeLeft::seconds_for(std::uint64_t size) const {
    if (measured_.empty()) return seconds_per_point_;
    const auto above = measured_.lower_bound(size);
    if (above == measured_.end()) return mean_of(measured_.rbegin()->second);
    const double high = mean_of(above->second);
    const auto at = static_cast<double>(size), upper = static_cast<double>(above->first);
    // Where nothing smaller is known yet: the smallest takes what its timing may.
    double low = std::min(high, seconds_per_point_), lower = static_cast<double>(smallest_);
    if (above != measured_.begin()) {
        low = mean_of(std::prev(above)->second);
        lower = static_cast<double>(std::prev(above)->first);
    }
    if (lower >= upper || at >= upper) return high;
    if (!(low > 0) || !(high > 0) || !(lower > 0)) return (low + high) / 2;
    // What memory costs grows with the size; what is simulated and shuffled grows by less once it is much: between a
    // line of the sizes and one of their logarithms, nearer to the latter (tests/experiments/time_left_test.cpp).
    constexpr double of_logarithms = 2.0 / 3;
    const double plain = low + (high - low) * (at - lower) / (upper - lower);
    const double way = (std::log(at) - std::log(lower)) / (std::log(upper) - std::log(lower));
    const double logarithmic = std::exp(std::log(low) + way * (std::log(high) - std::log(low)));
    return std::pow(plain, 1 - of_logarithms) * std::pow(logarithmic, of_logarithms);
}

std::vector<std::size_t> spread_order(std::size_t count) {
    std::vector<std::size_t> order;
    if (count == 0) return order;
    order.push_back(count - 1);
    if (count == 1) return order;
    order.push_back(0);
    std::deque<std::pair<std::size_t, std::size_t>> gaps{{0, count - 1}};
    for (; !gaps.empty(); gaps.pop_front()) {
        const auto [first, last] = gaps.front();
        if (last - first < 2) continue;
        const std::size_t middle = first + (last - first) / 2;
        order.push_back(middle);
        // The upper half first: it is where the time goes.
        gaps.emplace_back(middle, last);
        gaps.emplace_back(first, middle);
    }
    return order;
}

}  // namespace tmaprobe::experiments
