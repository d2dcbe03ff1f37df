#include "model/moments_in_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/statistics.h"

namespace tmaprobe::model {

namespace {

/// A third or a half apart.
constexpr std::array grid_points{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};

}  // namespace

void MomentGrid::afford(double points) {
    constexpr double many_more = 2;
    if (points_ > 0 && points >= points_ && points < many_more * points_) return;
    const auto above = std::ranges::upper_bound(grid_points, points);
    points_ = above == grid_points.begin() ? grid_points.front() : *(above - 1);
}

std::vector<double> MomentGrid::of(double whole_ns, double begin_ns, double end_ns) const {
    std::vector<double> moments{0};
    if (points_ == 0 || whole_ns <= 0) return moments;
    const double apart_ns = whole_ns / points_;
    // As close as that, a point would tell what the copy's own moment does.
    const double first_ns = begin_ns + apart_ns / 2;
    for (double part = std::ceil(first_ns / apart_ns - 0.5); (part + 0.5) * apart_ns < end_ns; ++part)
        moments.push_back(((part + 0.5) * apart_ns - begin_ns) / (end_ns - begin_ns));
    return moments;
}

double usual_distance(std::vector<double> places) {
    std::ranges::sort(places);
    std::vector<double> apart;
    for (std::size_t i = 1; i < places.size(); ++i) apart.push_back(places[i] - places[i - 1]);
    return std::max(1.0, summarize(std::move(apart)).median);
}

void weigh_by_nearness(std::vector<WindowFacts>& moments, double whole_ns) {
    // A loader of a few libraries takes a millisecond.
    constexpr double start_ns = 1e6;
    std::vector<WindowFacts*> in_order;
    for (WindowFacts& moment : moments) in_order.push_back(&moment);
    std::ranges::stable_sort(in_order, {}, &WindowFacts::at_ns);
    const bool has_start = in_order.size() > 1 && in_order.front()->at_ns <= 0;
    if (has_start) {
        in_order.front()->native_ns = std::min(start_ns, in_order[1]->at_ns);
        whole_ns = std::max(0.0, whole_ns - in_order.front()->native_ns);
        in_order.erase(in_order.begin());
    }
    std::vector<double> places;
    for (const WindowFacts* moment : in_order) places.push_back(moment->at_ns);
    constexpr std::size_t fewest = 4;
    const double most_ns = places.size() < fewest ? whole_ns : 2 * usual_distance(places);
    const auto apart = [&](std::size_t i) { return std::min(most_ns, places[i] - places[i - 1]); };
    double all_ns = 0;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        const bool is_last = i + 1 == in_order.size();
        const double after = is_last ? 0 : apart(i + 1), before = i > 0 ? apart(i) : after;
        in_order[i]->native_ns = in_order.size() == 1 ? 1 : (before + (is_last ? before : after)) / 2;
        all_ns += in_order[i]->native_ns;
    }
    if (all_ns <= 0) return;
    for (WindowFacts* moment : in_order) moment->native_ns *= whole_ns / all_ns;
}

}  // namespace tmaprobe::model
