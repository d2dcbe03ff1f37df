#pragma once

#include <cstddef>
#include <vector>

namespace tmaprobe {

/// Order statistics of one quantity over repetitions, in the quantity's own unit.
struct Summary {
    std::size_t count = 0;
    double median = 0, min = 0, max = 0;
    double mad = 0;  ///< median absolute deviation from the median, not scaled to a sigma
    double low = 0, high = 0;  ///< 95% confidence interval of the median (binomial order statistics)
};

/// Order statistics of the values; all zero when there are none.
Summary summarize(std::vector<double> values);

/// Median; 0 when empty.
double median(std::vector<double> values);

}  // namespace tmaprobe
