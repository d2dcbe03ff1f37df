#include "model/met_areas.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::model {

void MetAreas::note(std::uint64_t line, bool met_before) {
    const std::uint64_t number = line / lines_of_area;
    Area& area = areas_[number % count];
    if (area.number != number) area = {number};
    ++area.questions;
    area.again += met_before;
}

double MetAreas::questions_per_line(std::uint64_t line) const {
    constexpr std::uint64_t fewest = 16;
    const std::uint64_t number = line / lines_of_area;
    const Area& area = areas_[number % count];
    if (area.number != number || area.questions < fewest) return 0;
    return questions_per_line_from(static_cast<double>(area.again) / static_cast<double>(area.questions));
}

double questions_per_line_from(double again) {
    // again = 1 - (1 - exp(-u)) / u, which grows with u and is below u / 2 and above 1 - 1 / u.
    constexpr double most = 0.99;
    if (again <= 0) return 0;
    again = std::min(again, most);
    double low = 2 * again, high = 1 / (1 - again);
    high = std::max(high, low);
    constexpr int halvings = 10;  // to a thousandth
    for (int i = 0; i < halvings; ++i) {
        const double middle = (low + high) / 2;
        (1 - (1 - std::exp(-middle)) / middle < again ? low : high) = middle;
    }
    return (low + high) / 2;
}

}  // namespace tmaprobe::model
