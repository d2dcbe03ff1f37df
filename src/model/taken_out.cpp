#include "model/taken_out.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tmaprobe::model {
namespace {

double reduce(Column& column, const Column& unit) {
    const double along = product(column, unit);
    for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * unit[i];
    return along;
}

void reduce(Regressor& regressor, const Regressor& unit) {
    const double along = reduce(regressor.windows, unit.windows);
    regressor.others -= along * unit.others;
    for (std::size_t i = 0; i < dear_events; ++i) regressor.made_of[i] -= along * unit.made_of[i];
}

}  // namespace

double product(const Column& one, const Column& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

void TakenOut::take_out_events(std::vector<Regressor> events) {
    // Where hardly a window has any, one of them alone would be told apart by it.
    constexpr std::ptrdiff_t least_windows = 3;
    constexpr double too_alike = 1e-6;
    std::vector<double> squares;
    for (const Regressor& event : events) squares.push_back(product(event.windows, event.windows));
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto has_some = [](double value) { return value != 0; };
        const double square = product(events[i].windows, events[i].windows);
        if (std::ranges::count_if(events[i].windows, has_some) < least_windows || square <= too_alike * squares[i])
            continue;
        const Regressor unit = use(std::move(events[i]), square);
        for (std::size_t other = i + 1; other < events.size(); ++other) reduce(events[other], unit);
    }
}

void TakenOut::take_out_ways(std::vector<Regressor> ways) {
    constexpr std::size_t most_used = 12, windows_for_one = 10;
    constexpr double too_alike = 1e-3;
    double largest = 0;
    for (Regressor& way : ways)
        for (const Regressor& unit : used_) reduce(way, unit);
    for (std::size_t used = 0; used < std::min(most_used, apart_.size() / windows_for_one) && !ways.empty(); ++used) {
        const auto most =
            std::ranges::max_element(ways, {}, [](const Regressor& one) { return product(one.windows, one.windows); });
        const double square = product(most->windows, most->windows);
        largest = std::max(largest, square);
        if (square <= too_alike * largest) break;
        Regressor chosen = std::move(*most);
        ways.erase(most);
        const Regressor unit = use(std::move(chosen), square);
        for (Regressor& way : ways) reduce(way, unit);
    }
}

Column TakenOut::raised() const {
    Column raised = raised_;
    for (std::size_t i = 0; i < raised.size(); ++i) raised[i] /= std::max(0.5, 1 - fitted_[i]);
    return raised;
}

Regressor TakenOut::use(Regressor unit, double square) {
    const double length = std::sqrt(square);
    for (double& value : unit.windows) value /= length;
    for (double& value : unit.made_of) value /= length;
    unit.others /= length;
    const double along = reduce(apart_, unit.windows);
    cycles_ += along * unit.others;
    for (std::size_t i = 0; i < dear_events; ++i) events_[i] += along * unit.made_of[i];
    raised_.resize(apart_.size());
    for (std::size_t i = 0; i < apart_.size(); ++i) {
        raised_[i] += unit.windows[i] * unit.others;
        fitted_[i] += unit.windows[i] * unit.windows[i];
    }
    used_.push_back(unit);
    return unit;
}

}  // namespace tmaprobe::model
