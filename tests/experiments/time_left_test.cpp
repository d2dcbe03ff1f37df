#include "experiments/time_left.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/sizes.h"

namespace tmaprobe::experiments {
namespace {

TEST(SpreadOrder, HasEachOnceAndTheEndsFirst) {
    EXPECT_TRUE(spread_order(0).empty());
    EXPECT_EQ(spread_order(1), (std::vector<std::size_t>{0}));
    EXPECT_EQ(spread_order(2), (std::vector<std::size_t>{1, 0}));
    EXPECT_EQ(spread_order(5), (std::vector<std::size_t>{4, 0, 2, 3, 1}));
    for (const std::size_t count : {3UL, 29UL, 100UL}) {
        auto order = spread_order(count);
        std::ranges::sort(order);
        ASSERT_EQ(order.size(), count);
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(order[i], i);
    }
}

/// Half octaves from 16K to 256M, as a sweep has them by default.
std::vector<std::uint64_t> usual_sizes() {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = 16 * kib; size <= 256 * mib; size *= 2)
        for (const std::uint64_t each : {size, size + size / 2})
            if (each <= 256 * mib) sizes.push_back(each);
    return sizes;
}

/// The largest factor by which what is left is over- or underestimated, from a tenth of the time on and until the last
/// tenth, in which it is seconds.
double worst_factor(const std::function<double(std::uint64_t)>& seconds_of) {
    const auto sizes = usual_sizes();
    double all = 0, spent = 0, worst = 1;
    for (const std::uint64_t size : sizes) all += seconds_of(size);
    TimeLeft left(0.4, sizes.front());
    const auto order = spread_order(sizes.size());
    for (std::size_t done = 0; done + 1 < order.size(); ++done) {
        const std::uint64_t size = sizes[order[done]];
        left.add(size, seconds_of(size));
        spent += seconds_of(size);
        if (spent < 0.1 * all || spent > 0.9 * all) continue;
        double estimate = 0;
        for (std::size_t next = done + 1; next < order.size(); ++next) estimate += left.seconds_for(sizes[order[next]]);
        worst = std::max({worst, estimate / (all - spent), (all - spent) / estimate});
    }
    return worst;
}

TEST(TimeLeft, IsWithinAFactorOfTwoWhateverPointsCost) {
    const auto as_size = [](std::uint64_t size) { return static_cast<double>(size) / (256 * mib); };
    EXPECT_LT(worst_factor([](std::uint64_t) { return 1.0; }), 2);
    EXPECT_LT(worst_factor([&](std::uint64_t size) { return 0.5 + 20 * as_size(size); }), 2);
    EXPECT_LT(worst_factor([&](std::uint64_t size) { return 0.5 + 20 * std::sqrt(as_size(size)); }), 2);
}

TEST(TimeLeft, IsWithinAFactorOfTwoOfARealSweep) {
    // Seconds that the points of `tmaprobe sweep --kernel chase --sizes 16K..256M` took on a virtual machine of two
    // CPUs, one of them at work otherwise: timed and modelled, a page mode each.
    const std::vector<double> took{1.6, 2.1, 1.9, 2.0,  1.9,  2.1, 2.2,  2.4,  2.0,  2.5,  1.5,  2.0,  3.4,  5.7, 6.0,
                                   6.3, 6.9, 9.0, 10.2, 10.9, 9.6, 12.0, 16.6, 13.5, 21.2, 32.5, 33.6, 26.0, 27.6};
    const auto sizes = usual_sizes();
    ASSERT_EQ(took.size(), sizes.size());
    EXPECT_LT(worst_factor([&](std::uint64_t size) {
                  return took[static_cast<std::size_t>(std::ranges::find(sizes, size) - sizes.begin())];
              }),
              2);
}

TEST(TimeLeft, OfNothingMeasuredIsWhatTheTimingMayTake) { EXPECT_EQ(TimeLeft(0.4, kib).seconds_for(mib), 0.4); }

}  // namespace
}  // namespace tmaprobe::experiments
