#include "model/kinds_of_moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "model/moments_in_time.h"

namespace tmaprobe::model {
namespace {

constexpr double alike = 0.5;  ///< shares of time in the same code, from which on moments are of one kind

/// Shares of time by piece of code; together 1.
using Shares = std::map<std::uint64_t, double>;

Shares shares_of(const std::map<std::uint64_t, double>& time_by_address, std::uint64_t piece_bytes) {
    Shares shares;
    double all = 0;
    for (const auto& [address, time] : time_by_address) all += time;
    if (all <= 0) return shares;
    for (const auto& [address, time] : time_by_address) shares[address / piece_bytes] += time / all;
    return shares;
}

double in_common(const Shares& one, const Shares& other) {
    double same = 0;
    for (const auto& [piece, share] : one)
        if (const auto found = other.find(piece); found != other.end()) same += std::min(share, found->second);
    return same;
}

struct Kind {
    Shares first;  ///< of the moment that it began with
    Shares code;   ///< of all, as their time is
    double native_ns = 0;
    std::vector<WindowFacts*> moments;
    double share = 0;
};

std::vector<Kind> kinds_of(const std::vector<WindowFacts*>& moments, std::uint64_t piece_bytes) {
    std::vector<Kind> kinds;
    for (WindowFacts* moment : moments) {
        const Shares code = shares_of(moment->time_by_address, piece_bytes);
        auto kind = std::max_element(kinds.begin(), kinds.end(), [&](const Kind& one, const Kind& other) {
            return in_common(one.first, code) < in_common(other.first, code);
        });
        if (kind == kinds.end() || in_common(kind->first, code) < alike)
            kind = kinds.insert(kinds.end(), Kind{code, {}, 0, {}, 0});
        kind->moments.push_back(moment);
        kind->native_ns += moment->native_ns;
        for (const auto& [piece, share] : code) kind->code[piece] += share * moment->native_ns;
    }
    for (Kind& kind : kinds)
        for (auto& [piece, share] : kind.code) share /= kind.native_ns;
    return kinds;
}

/// The shares of a mixture under which the looks are likeliest (expectation and maximization), from the kinds' own ones
/// on. How many looks no kind explains.
double explain(const Shares& looks, std::vector<Kind>& kinds) {
    constexpr int rounds = 300;
    double unmet = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<double> explained(kinds.size());
        double all = 0;
        unmet = 0;
        for (const auto& [piece, times] : looks) {
            std::vector<double> likely(kinds.size());
            double sum = 0;
            for (std::size_t i = 0; i < kinds.size(); ++i) {
                const auto found = kinds[i].code.find(piece);
                likely[i] = found == kinds[i].code.end() ? 0 : kinds[i].share * found->second;
                sum += likely[i];
            }
            if (sum <= 0) {
                unmet += times;
                continue;
            }
            all += times;
            for (std::size_t i = 0; i < kinds.size(); ++i) explained[i] += times * likely[i] / sum;
        }
        if (all <= 0) break;
        for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i].share = explained[i] / all;
    }
    return unmet;
}

/// How many looks each moment stands for.
class LooksOfMoments {
  public:
    LooksOfMoments(const std::vector<Kind>& kinds, std::uint64_t piece_bytes) : piece_bytes_(piece_bytes) {
        for (const Kind& kind : kinds)
            for (WindowFacts* moment : kind.moments) moments_.push_back({moment, &kind});
        std::vector<double> places;
        for (const Moment& moment : moments_) places.push_back(moment.facts->at_look);
        apart_ = usual_distance(std::move(places));
    }

    void add(const std::vector<counters::perf::TimeProfile::Look>& looks) {
        double before = 0;
        for (const auto& look : looks) {
            const double at = static_cast<double>(look.so_far), weight = at - std::exchange(before, at);
            double nearest = std::numeric_limits<double>::infinity(), all = 0;
            for (const Moment& moment : moments_) nearest = std::min(nearest, distance(moment, at));
            for (Moment& moment : moments_) all += moment.likely = likely(moment, look.address, at, nearest);
            for (Moment& moment : moments_) moment.looks += weight * moment.likely / all;
        }
    }

    /// They share what they stand for as the looks are.
    void weigh(double native_ns) const {
        double all = 0;
        for (const Moment& moment : moments_) all += moment.looks;
        for (const Moment& moment : moments_) moment.facts->native_ns = native_ns * moment.looks / all;
    }

  private:
    struct Moment {
        WindowFacts* facts;
        const Kind* kind;
        double looks = 0, likely = 0;
    };

    static double distance(const Moment& moment, double at) { return std::abs(moment.facts->at_look - at); }
    /// How likely a look is one more at what the moment is of, but for a factor: the more of that code its kind has,
    /// and the nearer it is. What none is near to is like what is around it, however far.
    double likely(const Moment& moment, std::uint64_t address, double at, double nearest) const {
        // A window is short: what it did not execute may be of its phase all the same. And what is far may come again.
        constexpr double unseen = 1e-3, far = 1e-3;
        const auto found = moment.kind->code.find(address / piece_bytes_);
        const double has = unseen + (found == moment.kind->code.end() ? 0 : found->second);
        const double near = far + std::exp((nearest - distance(moment, at)) / (apart_ + 2 * nearest));
        return has * near * moment.facts->native_ns;
    }

    std::vector<Moment> moments_;
    double apart_;
    std::uint64_t piece_bytes_;
};

/// How many looks are at code that no kind has.
double unmet_of(const Shares& looks, const std::vector<Kind>& kinds) {
    double unmet = 0;
    for (const auto& [piece, times] : looks)
        if (std::ranges::none_of(kinds, [&](const Kind& kind) { return kind.code.contains(piece); })) unmet += times;
    return unmet;
}

}  // namespace

std::uint64_t bytes_of_piece(const std::set<std::uint64_t>& addresses) {
    constexpr std::array<std::uint64_t, 2> small{16, 64};
    constexpr std::uint64_t usual = 256;
    constexpr std::size_t few = 32;
    for (const std::uint64_t bytes : small) {
        std::set<std::uint64_t> pieces;
        for (const std::uint64_t address : addresses) pieces.insert(address / bytes);
        if (pieces.size() <= few) return bytes;
    }
    return usual;
}

LookedAt weigh_by_looks(const CodeLooks& looks, std::vector<WindowFacts>& moments, const LooksInOrder& in_order) {
    LookedAt told;
    std::uint32_t kind_number = 0;
    std::set<pid_t> processes;
    for (const WindowFacts& moment : moments) processes.insert(moment.process);
    for (const pid_t process : processes) {
        std::vector<WindowFacts*> of_it;
        double native_ns = 0;
        for (WindowFacts& moment : moments)
            if (moment.process == process && moment.native_ns > 0) {
                of_it.push_back(&moment);
                native_ns += moment.native_ns;
            }
        const auto found = looks.find(process);
        std::set<std::uint64_t> addresses;
        if (found != looks.end())
            for (const auto& [address, times] : found->second) addresses.insert(address);
        const std::uint64_t piece_bytes = bytes_of_piece(addresses);
        auto kinds = kinds_of(of_it, piece_bytes);
        for (Kind& kind : kinds) {
            kind.share = kind.native_ns / native_ns;
            for (WindowFacts* moment : kind.moments) moment->kind = kind_number;
            ++kind_number;
        }
        Shares met;
        double all = 0;
        if (found != looks.end())
            for (const auto& [address, times] : found->second) {
                met[address / piece_bytes] += static_cast<double>(times);
                all += static_cast<double>(times);
            }
        if (all < static_cast<double>(fewest_looks)) continue;
        told.looks += all;
        if (in_order)
            if (const auto& ordered = in_order(process);
                !ordered.empty() && static_cast<double>(ordered.back().so_far) >= all) {
                LooksOfMoments by_moment(kinds, piece_bytes);
                by_moment.add(ordered);
                by_moment.weigh(native_ns);
                told.unmet += unmet_of(met, kinds);
                continue;
            }
        told.unmet += explain(met, kinds);
        for (const Kind& kind : kinds)
            for (WindowFacts* moment : kind.moments) moment->native_ns *= kind.share * native_ns / kind.native_ns;
    }
    if (told.looks > 0) told.unmet /= told.looks;
    return told;
}

namespace {

std::vector<RegionFacts> times(std::vector<RegionFacts> regions, double factor) {
    for (RegionFacts& region : regions)
        for (auto& [name, value] : region.facts) value *= factor;
    return regions;
}

/// As a part of all its process's time.
WindowFacts in_its_time(const WindowFacts& moment) {
    const double weight = moment.native_ns / std::max(1.0, cycles_of(moment.base));
    WindowFacts part;
    add(part.base, moment.base, weight);
    part.regions = times(moment.regions, weight);
    for (const FactVariation& variation : moment.variations) {
        part.variations.push_back({variation.what, {}, {}, {}, times(variation.regions, weight)});
        add(part.variations.back().facts, variation.facts, weight);
    }
    return part;
}

}  // namespace

void vary_as_others(std::vector<WindowFacts>& moments) {
    WindowFacts all;
    std::map<std::uint32_t, WindowFacts> by_kind;
    for (const WindowFacts& moment : moments) {
        if (!moment.varied || moment.native_ns <= 0) continue;
        const WindowFacts part = in_its_time(moment);
        merge(all, part);
        merge(by_kind[moment.kind], part);
    }
    if (is_nothing(all)) return;
    for (WindowFacts& moment : moments) {
        if (moment.varied) continue;
        const auto of_kind = by_kind.find(moment.kind);
        const WindowFacts& others = of_kind == by_kind.end() ? all : of_kind->second;
        for (const FactVariation& variation : others.variations)
            if (std::ranges::find(moment.variations, variation.what, &FactVariation::what) == moment.variations.end())
                moment.variations.push_back(vary_alike(moment, others, variation));
    }
}

}  // namespace tmaprobe::model
