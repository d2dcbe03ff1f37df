#pragma once

#include <vector>

namespace tmaprobe::judge {

/// How much larger one quantity is than another, with a confidence interval.
struct Ratio {
    double value = 1;          ///< after / before
    double low = 1, high = 1;  ///< 95% confidence interval where `confidence` is at least that
    double confidence = 0;     ///< what few repetitions can give; 0: nothing can be said
    /// The interval leaves out 1 and is a 95% one.
    bool differs() const { return confidence >= 0.95 && (low > 1 || high < 1); }
};

/// The median of all pairwise ratios and its interval by the ranks of the Mann-Whitney test (Hodges and
/// Lehmann 1963, on logarithms), which supposes no distribution: exact for up to 40 values each, by the
/// normal approximation beyond. Values that are not positive and finite are left out.
Ratio compare_ranks(std::vector<double> before, std::vector<double> after);

}  // namespace tmaprobe::judge
