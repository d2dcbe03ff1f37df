#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::judge {

/// One point of a curve of cost (ns per operation) over size.
struct CurvePoint {
    std::uint64_t size_bytes = 0;
    double cost = 0;
    double low = 0, high = 0;  ///< 95% confidence interval of the cost
};

/// What counts as a knee.
struct KneeCriteria {
    double least_rise = 0.08;      ///< of the cost, from the knee to where the curve is level again
    double relative_floor = 0.01;  ///< no point is trusted better than this, whatever its interval says
    double apart_octaves = 0.5;    ///< bends closer than this are one knee
};

/// A curve of fewer points has no knees to be found.
inline constexpr std::size_t least_points = 5;

/// Knees of a curve of at least `least_points`: where the cost begins to rise. A linear spline through log
/// cost over log size, whose bends are chosen among the measured sizes by forward selection and backward
/// elimination under the Bayesian information criterion (multivariate adaptive regression splines,
/// Friedman 1991, in one dimension); each point weighs by its confidence interval. A knee is an upward
/// bend whose rise exceeds the criteria; its ratio is the cost at the end of the rise over the cost
/// before it. Points may come in any order; sizes that occur twice and costs that are not positive are
/// left out. Kind "found", cause empty.
std::vector<record::Knee> find_knees(std::vector<CurvePoint> curve, const KneeCriteria& criteria = {});

/// Names the cause of each found knee: the nearest predicted one. A knee lies between the size at which
/// it was found and the next one measured (`sizes`); a cache may end up to an octave later than its knee
/// (pages fall unevenly on its sets, and others use it too), a TLB half an octave. A TLB alone does not
/// make a walk three times as slow, so it is no cause of more. Neighbours with one cause become one knee.
void explain_knees(std::vector<record::Knee>& found, const std::vector<record::Knee>& predicted,
                   const std::vector<std::uint64_t>& sizes);

/// Whether a predicted knee's cause is a cache (else a TLB's reach).
bool is_cache_knee(const record::Knee& predicted);

/// "+31% from 6M (L2 TLB reach 6M)", or "no knee".
std::string describe_knees(const std::vector<record::Knee>& found);

}  // namespace tmaprobe::judge
