#include "judge/rank_test.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::judge {
namespace {

constexpr double wanted = 0.95;
constexpr std::size_t exact_up_to = 40;

/// Probabilities of the Mann-Whitney statistic 0..n*m when both samples come from one distribution.
/// Follows the largest value: it is of the first sample (and exceeds all m) or of the second.
std::vector<double> exact_distribution(std::size_t n, std::size_t m) {
    std::vector<std::vector<double>> row(m + 1);
    for (std::size_t j = 0; j <= m; ++j) row[j] = {1};
    for (std::size_t i = 1; i <= n; ++i) {
        std::vector<std::vector<double>> next(m + 1);
        next[0] = {1};
        for (std::size_t j = 1; j <= m; ++j) {
            const double first = static_cast<double>(i) / static_cast<double>(i + j);
            next[j].assign(i * j + 1, 0);
            for (std::size_t u = 0; u < row[j].size(); ++u) next[j][u + j] += first * row[j][u];
            for (std::size_t u = 0; u < next[j - 1].size(); ++u) next[j][u] += (1 - first) * next[j - 1][u];
        }
        row = std::move(next);
    }
    return row[m];
}

/// How many of the sorted ratios are cut off at each end, and what the remaining interval is worth.
struct Cut {
    std::size_t ranks = 0;
    double confidence = 0;
};

Cut exact_cut(std::size_t n, std::size_t m) {
    const auto probability = exact_distribution(n, m);
    Cut cut{0, 1 - 2 * probability[0]};
    double tail = probability[0];
    for (std::size_t u = 1; u < probability.size() / 2; ++u) {
        tail += probability[u];
        if (1 - 2 * tail < wanted) break;
        cut = {u, 1 - 2 * tail};
    }
    return cut;
}

Cut normal_cut(std::size_t n, std::size_t m) {
    const double product = static_cast<double>(n) * static_cast<double>(m);
    const double sigma = std::sqrt(product * static_cast<double>(n + m + 1) / 12);
    return {static_cast<std::size_t>(std::max(0.0, std::floor(product / 2 - 1.96 * sigma))), wanted};
}

void keep_sensible(std::vector<double>& values) {
    std::erase_if(values, [](double value) { return !(value > 0) || !std::isfinite(value); });
}

}  // namespace

Ratio compare_ranks(std::vector<double> before, std::vector<double> after) {
    keep_sensible(before);
    keep_sensible(after);
    Ratio ratio;
    if (before.empty() || after.empty()) return ratio;
    std::vector<double> ratios;
    ratios.reserve(before.size() * after.size());
    for (const double one : before)
        for (const double other : after) ratios.push_back(other / one);
    std::sort(ratios.begin(), ratios.end());
    const std::size_t half = ratios.size() / 2;
    ratio.value = ratios.size() % 2 ? ratios[half] : std::sqrt(ratios[half - 1] * ratios[half]);
    const bool few = before.size() <= exact_up_to && after.size() <= exact_up_to;
    const Cut cut = few ? exact_cut(before.size(), after.size()) : normal_cut(before.size(), after.size());
    ratio.low = ratios[cut.ranks];
    ratio.high = ratios[ratios.size() - 1 - cut.ranks];
    ratio.confidence = cut.confidence;
    return ratio;
}

}  // namespace tmaprobe::judge
