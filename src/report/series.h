#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace tmaprobe::report {

struct PlottedPoint {
    double x = 0;                         ///< in the axis' unit, e.g. bytes
    double value = 0, low = 0, high = 0;  ///< ns per operation, or bytes per second
    const record::Run* run = nullptr;
};

/// The points of one curve in order of x.
struct Series {
    std::string label;  ///< what distinguishes it: "4k", "2m, hint nta"
    std::vector<PlottedPoint> points;
};

/// A sweep's record as curves over one axis.
struct Curves {
    std::string axis = "size_bytes";                                  ///< key of Run::parameters
    record::CurveQuantity quantity = record::CurveQuantity::latency;  ///< in ns per operation, or bytes per second
    std::vector<Series> series;
};

Curves curves_of(const record::Record& record);

/// Whether other work on the machine disturbed the point so much that too few clean repetitions are left.
bool is_doubtful(const PlottedPoint& point);

/// "16M" for sizes, else the number.
std::string axis_text(const Curves& curves, double x);

/// "3.4 ns" or "2.04 GB/s".
std::string quantity_text(const Curves& curves, double value);

/// "predicted at 8M for 4k pages: L2 TLB reach"
std::string knee_sentence(const record::Knee& knee);

}  // namespace tmaprobe::report
