#include "model/region_costs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tmaprobe::model {
namespace {

/// Region 7 is path 1, region 8 in it path 2.
const std::vector<std::vector<std::uint32_t>> one_in_another{{}, {7}, {7, 8}};

/// Address 1 is executed in region 7 alone, 2 in region 8 alone, 3 in 7 and outside.
SimulatedWindow window(double inside_of_shared, double outside_of_shared) {
    SimulatedWindow window;
    const double shared = inside_of_shared + outside_of_shared;
    window.by_path[1] = {{1, {10, 20}}, {3, {inside_of_shared, 2 * inside_of_shared}}};
    window.by_path[2] = {{2, {5, 40}}};
    window.by_path[0] = {{3, {outside_of_shared, 2 * outside_of_shared}}, {4, {100, 50}}};
    window.costs = {{1, {10, 20}}, {2, {5, 40}}, {3, {shared, 2 * shared}}, {4, {100, 50}}};
    return window;
}

const std::map<std::uint64_t, double> executions{{1, 1000}, {2, 500}, {3, 2000}, {4, 10000}};

TEST(RegionCosts, AreThoseOfTheInstructionsInThemWithRegionsInside) {
    const std::vector<SimulatedWindow> windows(20, window(10, 10));
    const CostInRegion outer = estimate_region(executions, windows, {}, one_in_another, 7);
    // 1,000 at 2 cycles, 500 at 8, and half of 2,000 at 2.
    EXPECT_NEAR(outer.cycles, 2000 + 4000 + 2000, 1e-6);
    EXPECT_NEAR(outer.instructions, 1000 + 500 + 1000, 1e-6);
    EXPECT_NEAR(outer.standard_error, 0, 1e-6);
    const CostInRegion inner = estimate_region(executions, windows, {}, one_in_another, 8);
    EXPECT_NEAR(inner.cycles, 4000, 1e-6);
    EXPECT_NEAR(inner.instructions, 500, 1e-6);
}

TEST(RegionCosts, ThatNoWindowHasAreNone) {
    const std::vector<SimulatedWindow> windows(20, window(10, 10));
    EXPECT_EQ(estimate_region(executions, windows, {}, one_in_another, 9).cycles, 0);
}

// Half of the windows have the shared instruction inside, half outside: the share of all that is inside is known within
// the error of a mean of 20, which is 0.5 / sqrt(20) of its 4,000 cycles.
TEST(RegionCosts, DifferByHowMuchOfWhatIsSharedIsInside) {
    std::vector<SimulatedWindow> windows;
    for (int i = 0; i < 20; ++i) windows.push_back(i % 2 ? window(20, 0) : window(0, 20));
    const CostInRegion cost = estimate_region(executions, windows, {}, one_in_another, 7);
    EXPECT_NEAR(cost.cycles, 8000, 1e-6);
    EXPECT_NEAR(cost.standard_error, 0.5 / std::sqrt(19) * 4000, 60);
}

// Where somebody waits for code it is no chance what is inside; what only such windows have counts all the same.
TEST(RegionCosts, TakeAwaitedWindowsOnlyForWhatNoOtherHas) {
    const std::vector<SimulatedWindow> windows(20, window(10, 10));
    SimulatedWindow awaited = window(20, 0);
    awaited.by_path[1][5] = {4, 12};
    awaited.costs[5] = {4, 12};
    auto counted = executions;
    counted[5] = 100;
    const CostInRegion cost = estimate_region(counted, windows, {awaited}, one_in_another, 7);
    EXPECT_NEAR(cost.cycles, 8000 + 300, 1);
}

}  // namespace
}  // namespace tmaprobe::model
