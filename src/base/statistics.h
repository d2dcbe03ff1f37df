#pragma once

#include <cstddef>
#include <vector>

namespace tmaprobe {

/// Order statistics of one quantity over repetitions, in the quantity's own unit.
struct Summary {
    std::size_t count = 0;
    double median = 0, min = 0, max = 0;
    double mad = 0;            ///< median absolute deviation from the median, not scaled to a sigma
    double low = 0, high = 0;  ///< confidence interval of the median: two of the values, by median_interval()
    double confidence =
        0;  ///< with which they hold the true median, below 0.95 for fewer than six values; 0: not known
};

/// Two ranks, from 1, between whose values the true median lies.
struct RankInterval {
    std::size_t lower = 0, upper = 0;
    double confidence = 0;
};

/// The narrowest pair of ranks, as far from either end, that hold the median of any continuous distribution with at
/// least 95%: how many of n independent values lie below the median is binomial(n, 1/2). Fewer than six values
/// cannot: then the extremes, with the confidence that they have, 1 - 2^(1-n). All zero for no values.
RankInterval median_interval(std::size_t count);

/// Order statistics of the values; all zero when there are none.
Summary summarize(std::vector<double> values);

/// Between which shares a proportion lies with 95% confidence.
struct ProportionInterval {
    double low = 0, high = 1;
};

/// Wilson's score interval of a share that was seen in `count` independent trials; 0..1 for none. It holds near 0 and 1
/// and for few trials, where share +- 2 sigma does not.
ProportionInterval proportion_interval(double share, double count);

/// Median; 0 when empty.
double median(std::vector<double> values);

}  // namespace tmaprobe
