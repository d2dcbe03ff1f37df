#include "model/met_areas.h"

#include <algorithm>
#include <cmath>

namespace tmaprobe::model {

void MetAreas::Areas::note(std::uint64_t line, bool again) {
    const std::uint64_t number = line / lines;
    Area& area = places[number % places.size()];
    if (area.number != number) area = {number};
    ++area.questions;
    area.again += again;
}

const MetAreas::Area* MetAreas::Areas::of(std::uint64_t line) const {
    const Area& area = places[line / lines % places.size()];
    return area.number == line / lines ? &area : nullptr;
}

void MetAreas::note(std::uint64_t line) {
    const bool again = lines_.find(line);
    if (!again) lines_.insert(line);
    lines_met_ += !again;
    small_.note(line, again);
    large_.note(line, again);
    ++noted_;
}

std::optional<MetAreas::Drawn> MetAreas::drawn_from(const Area& small, const Area* large) const {
    constexpr std::uint64_t fewest = 16;
    const Area* const area = small.again >= fewest ? &small : large;
    if (!area || area->again == 0) return {};
    const auto questions = static_cast<double>(area->questions);
    const double held = static_cast<double>(second_level_) * questions / static_cast<double>(noted_);
    const double told = questions - held;
    if (told < fewest) return {};
    // Of a large area the share that the small one has of its questions.
    const double share = static_cast<double>(small.questions) / questions;
    const double others = told / questions_per_line_from(static_cast<double>(area->again) / told);
    return Drawn{share * held, share * others};
}

double MetAreas::questions_per_line(std::uint64_t line) const {
    const Area* const small = small_.of(line);
    if (!small) return 0;
    const auto from = drawn_from(*small, large_.of(line));
    return from ? static_cast<double>(small->questions) / from->others : 0;
}

void MetAreas::look() {
    // From a thousandth of what has been to a thousand times that.
    constexpr int first = -20, last = 20;
    constexpr double step = 1.4142135623730951;
    growth_.clear();
    for (int i = first; i <= last; ++i) growth_.push_back({std::pow(step, i), 0});
    for (const Area& area : small_.places) {
        if (area.questions == 0) continue;
        const auto from = drawn_from(area, large_.of(area.number * small_.lines));
        const auto met = static_cast<double>(area.questions - area.again);
        const auto questions = static_cast<double>(area.questions);
        for (Point& point : growth_) {
            const double told = from ? questions * point.times - from->held : 0;
            if (!from)
                point.lines += met * point.times;
            else if (told <= 0)
                point.lines += questions * point.times;
            else
                point.lines += from->held - from->others * std::expm1(-told / from->others);
        }
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
