#include "model/speed_up.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

/// Cycles of a window with one thing changed that is not known; where that makes no difference, as it is.
double cycles_with(const WindowFacts& window, std::optional<record::Variation> what) {
    for (const FactVariation& variation : window.variations)
        if (what == variation.what) return cycles_of(variation.facts);
    return cycles_of(window.base);
}

struct Shortened {
    double stands_for = 0, by = 1;  ///< cycles after over before
};

std::vector<Shortened> shortened(const std::vector<ComparedMoment>& moments, std::optional<record::Variation> what) {
    std::vector<Shortened> all;
    for (const ComparedMoment& moment : moments) {
        const double before = cycles_with(moment.before, what), after = cycles_with(moment.after, what);
        if (before > 0 && after > 0 && moment.stands_for > 0) all.push_back({moment.stands_for, after / before});
    }
    return all;
}

double ratio(double before, double after) { return after > 0 ? before / after : 1; }

double of_all(const std::vector<Shortened>& moments) {
    double before = 0, after = 0;
    for (const Shortened& moment : moments) {
        before += moment.stands_for;
        after += moment.stands_for * moment.by;
    }
    return ratio(before, after);
}

}  // namespace

record::SpeedUp speed_up_of(const std::vector<ComparedMoment>& moments) {
    const auto base = shortened(moments, std::nullopt);
    record::SpeedUp speed_up;
    speed_up.value = speed_up.low = speed_up.high = of_all(base);
    const auto widen = [&](double value) {
        speed_up.low = std::min(speed_up.low, value);
        speed_up.high = std::max(speed_up.high, value);
    };
    std::set<record::Variation> kinds;
    for (const ComparedMoment& moment : moments)
        for (const WindowFacts* window : {&moment.before, &moment.after})
            for (const FactVariation& variation : window->variations) kinds.insert(variation.what);
    for (const record::Variation what : kinds) widen(of_all(shortened(moments, what)));
    if (base.size() < 2) return speed_up;
    double all = 0;
    for (const Shortened& moment : base) all += moment.stands_for;
    constexpr int times = 40;
    Random random(1);
    for (int time = 0; time < times; ++time) {
        double after = 0;
        for (std::size_t i = 0; i < base.size(); ++i)
            after += base[random.pick(base.size(), all, [&](std::size_t j) { return base[j].stands_for; })].by;
        widen(ratio(static_cast<double>(base.size()), after));
    }
    return speed_up;
}

}  // namespace tmaprobe::model
