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

ProportionInterval proportion_interval(double share, double count) {
    if (!(count > 0)) return {};
    constexpr double z = 1.959964;  // 2.5% of a normal distribution lie above
    const double of_count = z * z / count, scale = 1 / (1 + of_count);
    const double middle = (share + of_count / 2) * scale;
    const double half = z * scale * std::sqrt(share * (1 - share) / count + of_count / (4 * count));
    return {std::max(0.0, std::min(share, middle - half)), std::min(1.0, std::max(share, middle + half))};
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return median_of_sorted(values);
}

RankInterval median_interval(std::size_t count) {
    if (count == 0) return {};
    constexpr double each_tail = 0.025;
    const auto n = static_cast<double>(count);
    // Of n values, k lie below the true median with probability C(n, k) / 2^n.
    const auto probability = [&](double k) {
        return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
    };
    std::size_t lower = 1;
    double below = probability(0);  // that the true median is below the value of rank `lower`
    for (double next = below; lower < (count + 1) / 2; ++lower, below = next) {
        next = below + probability(static_cast<double>(lower));
        if (next > each_tail) break;
    }
    const double confidence = count == 1 ? 0 : std::max(0.0, 1 - 2 * below);
    return {lower, count + 1 - lower, confidence};
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

    const RankInterval interval = median_interval(values.size());
    summary.low = values[interval.lower - 1];
    summary.high = values[interval.upper - 1];
    summary.confidence = interval.confidence;
    return summary;
}

}  // namespace tmaprobe
