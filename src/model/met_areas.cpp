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
    ++noted_;
}

double MetAreas::questions_per_line(std::uint64_t line) const {
    constexpr std::uint64_t fewest = 16;
    const std::uint64_t number = line / lines_of_area;
    const Area& area = areas_[number % count];
    if (area.number != number || area.questions < fewest) return 0;
    return questions_per_line_from(static_cast<double>(area.again) / static_cast<double>(area.questions));
}

void MetAreas::look() {
    // From a thousandth of what has been to a thousand times that.
    constexpr int first = -20, last = 20;
    constexpr double step = 1.4142135623730951;
    growth_.clear();
    for (int i = first; i <= last; ++i) growth_.push_back({std::pow(step, i), 0});
    for (const Area& area : areas_) {
        if (area.questions == 0) continue;
        const double asked = questions_per_line(area.number * lines_of_area);
        const auto met = static_cast<double>(area.questions - area.again);
        for (Point& point : growth_)
            point.lines += asked > 0 ? met * std::expm1(-asked * point.times) / std::expm1(-asked) : met * point.times;
    }
    looked_ = noted_;
}

double MetAreas::time_of(std::uint64_t lines) {
    constexpr std::uint64_t share_to_look_again = 8;
    if (growth_.empty() || noted_ > looked_ + looked_ / share_to_look_again) look();
    const auto wanted = static_cast<double>(lines);
    const auto after = std::ranges::lower_bound(growth_, wanted, {}, &Point::lines);
    if (after == growth_.end()) return growth_.back().times;
    const Point before = after == growth_.begin() ? Point{0, 0} : *(after - 1);
    return before.times + (after->times - before.times) * (wanted - before.lines) / (after->lines - before.lines);
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
