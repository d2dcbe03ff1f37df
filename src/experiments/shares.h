#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "counters/slot_attribution.h"
#include "record/where.h"

namespace tmaprobe::experiments {

/// Slots of some place by cause, windows as they weigh.
using WeightedSlots = std::array<double, counters::slot_causes>;

inline void add(WeightedSlots& sum, const WeightedSlots& more) {
    for (std::size_t cause = 0; cause < sum.size(); ++cause) sum[cause] += more[cause];
}
inline void add(WeightedSlots& sum, const counters::SlotsByCause& more, double weight) {
    for (std::size_t cause = 0; cause < sum.size(); ++cause) sum[cause] += weight * static_cast<double>(more[cause]);
}
double total(const WeightedSlots& slots);
record::CauseSlots by_name(const WeightedSlots& slots);

/// What a window's slots are in a variation; null: as they are.
const counters::VariedSlots* varied_slots(const counters::AttributedWindow& window, record::Variation what);

/// Slots of one window by place, and of the whole window.
struct PlacedSlots {
    std::vector<std::pair<std::size_t, double>> of_places;  ///< a place may come several times
    double all = 0;
};

/// Each place's share of all slots, and between which shares it lies.
struct Shares {
    std::vector<double> base, low, high;
};

/// Bounds as those of the tree: by windows, and by what the model cannot know. `variations`: of each, all windows.
/// `windows_differ`: each is left out in turn; otherwise each is taken by itself.
Shares shares_of(std::size_t places, const std::vector<PlacedSlots>& windows,
                 const std::vector<std::vector<PlacedSlots>>& variations, bool windows_differ);

}  // namespace tmaprobe::experiments
