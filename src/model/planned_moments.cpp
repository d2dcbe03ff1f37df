#include "model/planned_moments.h"

#include <algorithm>
#include <map>

#include "model/kinds_of_moments.h"

namespace tmaprobe::model {
namespace {

using Look = counters::perf::TimeProfile::Look;

double time_of(const Look& look) { return static_cast<double>(look.so_far); }

}  // namespace

/// What is looked at just before and just after.
void PlannedMoments::note_near(const Looks& looks, double moment, std::uint64_t piece_bytes) {
    auto after = std::ranges::lower_bound(looks, moment, {}, time_of);
    if (after != looks.begin()) met_.insert((after - 1)->address / piece_bytes);
    constexpr int further = 2;
    for (int i = 0; i < further && after != looks.end(); ++i, ++after) met_.insert(after->address / piece_bytes);
}

std::vector<double> PlannedMoments::of(const Looks& looks, LookedAtTime time, const std::vector<double>& even,
                                       double followed, std::size_t further) {
    constexpr double share_worth_one = 0.01;
    constexpr double fewest = 3;  // a look or two are met by chance
    std::set<std::uint64_t> addresses;
    for (const Look& look : looks) addresses.insert(look.address);
    const std::uint64_t piece_bytes = bytes_of_piece(addresses);
    const double whole = time.end - time.begin;
    std::vector<double> moments = even;
    // At its start a program loads itself: what it does next is another thing.
    for (const double moment : even)
        if (moment > 0 || time.begin > 0) note_near(looks, time.begin + moment * whole, piece_bytes);
    if (looks.empty() || looks.back().so_far < fewest_looks || whole <= 0) return moments;
    const auto first = std::ranges::upper_bound(looks, time.begin, {}, time_of);
    const auto last = std::ranges::lower_bound(looks, time.begin + followed * whole, {}, time_of);
    const double worth_one = share_worth_one * time_of(looks.back());
    for (std::size_t added = 0; added < further; ++added) {
        std::map<std::uint64_t, std::vector<double>> unmet;  // times, by piece
        double unmet_time = 0, before = first == looks.begin() ? 0 : time_of(*(first - 1));
        for (auto look = first; look < last; before = time_of(*look++)) {
            const std::uint64_t piece = look->address / piece_bytes;
            if (met_.contains(piece)) continue;
            unmet[piece].push_back(time_of(*look));
            unmet_time += time_of(*look) - before;
        }
        if (unmet_time < std::max(fewest, worth_one)) break;
        const auto& most =
            std::ranges::max_element(unmet, {}, [](const auto& one) { return one.second.size(); })->second;
        // Its middle one: where a phase begins and ends is not where it is most like itself.
        const double moment = most[most.size() / 2];
        note_near(looks, moment, piece_bytes);
        moments.push_back(std::max(0.0, moment - 1 - time.begin) / whole);
    }
    std::ranges::sort(moments);
    return moments;
}

}  // namespace tmaprobe::model
