#include "model/speed_up.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/random.h"
#include "model/core_error.h"

namespace tmaprobe::model {
namespace {

/// Facts of a window with one thing changed that is not known; where that makes no difference, as they are.
const Facts& facts_with(const WindowFacts& window, std::optional<record::Variation> what) {
    for (const FactVariation& variation : window.variations)
        if (what == variation.what) return variation.facts;
    return window.base;
}

/// A moment's cycles before and after.
struct Shortened {
    double stands_for = 0;
    CyclesByCore before, after;

    /// After over before.
    double by(const CoreOff& core, const CoreOff& other_core) const {
        return after.with(other_core) / before.with(core);
    }
};

struct CoresCompared {
    const events::CoreError& before;
    const events::CoreError& after;
    bool same;  ///< both are one core
};

std::vector<Shortened> shortened(const std::vector<ComparedMoment>& moments, const CoresCompared& cores,
                                 std::optional<record::Variation> what) {
    std::vector<Shortened> all;
    for (const ComparedMoment& moment : moments) {
        const Shortened one{moment.stands_for, cycles_by_core(facts_with(moment.before, what), cores.before),
                            cycles_by_core(facts_with(moment.after, what), cores.after)};
        if (one.before.cycles > 0 && one.after.cycles > 0 && one.stands_for > 0) all.push_back(one);
    }
    return all;
}

double ratio(double before, double after) { return after > 0 ? before / after : 1; }

double of_all(const std::vector<Shortened>& moments, const CoreOff& core = {}, const CoreOff& other_core = {}) {
    double before = 0, after = 0;
    for (const Shortened& moment : moments) {
        before += moment.stands_for;
        after += moment.stands_for * moment.by(core, other_core);
    }
    return ratio(before, after);
}

record::SpeedUp speed_up_between(const std::vector<ComparedMoment>& moments, const CoresCompared& cores) {
    const auto base = shortened(moments, cores, std::nullopt);
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
    for (const record::Variation what : kinds) widen(of_all(shortened(moments, cores, what)));
    for (const CoreOff& core : outermost_cores) {
        if (cores.same) {
            widen(of_all(base, core, core));
        } else {
            widen(of_all(base, core, {}));
            widen(of_all(base, {}, core));
        }
    }
    if (base.size() < 2) return speed_up;
    double all = 0;
    for (const Shortened& moment : base) all += moment.stands_for;
    constexpr int times = 40;
    Random random(1), core_random(2);
    for (int time = 0; time < times; ++time) {
        const CoreOff core = draw_core(core_random), other_core = cores.same ? core : draw_core(core_random);
        double after = 0;
        for (std::size_t i = 0; i < base.size(); ++i)
            after += base[random.pick(base.size(), all, [&](std::size_t j) { return base[j].stands_for; })].by(
                core, other_core);
        widen(ratio(static_cast<double>(base.size()), after));
    }
    return speed_up;
}

}  // namespace

record::SpeedUp speed_up_of(const std::vector<ComparedMoment>& moments, const events::CoreError& core) {
    return speed_up_between(moments, {core, core, true});
}

record::SpeedUp speed_up_of(const std::vector<ComparedMoment>& moments, const events::CoreError& core,
                            const events::CoreError& other_core) {
    return speed_up_between(moments, {core, other_core, false});
}

}  // namespace tmaprobe::model
