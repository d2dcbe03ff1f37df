#include "base/statistics.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe {
namespace {

double median_of_sorted(const std::vector<double>& sorted) {
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return median_of_sorted(values);
}

Summary summarize(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    Summary summary;
    summary.count = values.size();
    summary.median = median_of_sorted(values);
    summary.min = values.front();
    summary.max = values.back();

    std::vector<double> deviations;
    deviations.reserve(values.size());
    for (const double value : values) deviations.push_back(std::fabs(value - summary.median));
    summary.mad = median(std::move(deviations));

    // Normal approximation of the binomial ranks that enclose the median with 95%.
    const auto n = static_cast<double>(values.size());
    const double reach = 0.98 * std::sqrt(n);
    const auto below = static_cast<std::ptrdiff_t>(std::floor(n / 2 - reach));
    const auto above = static_cast<std::ptrdiff_t>(std::ceil(n / 2 + reach));
    const auto last = static_cast<std::ptrdiff_t>(values.size()) - 1;
    summary.low = values[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(below, 0, last))];
    summary.high = values[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(above, 0, last))];
    return summary;
}

}  // namespace tmaprobe
