#include "experiments/shares.h"

#include <algorithm>

namespace tmaprobe::experiments {
namespace {

/// All that the model varies: each gives every place another share.
void vary(Shares& shares, const std::vector<double>& slots, double all) {
    if (all <= 0) return;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        shares.low[i] = std::min(shares.low[i], slots[i] / all);
        shares.high[i] = std::max(shares.high[i], slots[i] / all);
    }
}

void add(const PlacedSlots& window, double sign, std::vector<double>& slots) {
    for (const auto& [place, count] : window.of_places) slots[place] += sign * count;
}

}  // namespace

double total(const WeightedSlots& slots) {
    double sum = 0;
    for (const double count : slots) sum += count;
    return sum;
}

record::CauseSlots by_name(const WeightedSlots& slots) {
    record::CauseSlots named;
    for (const auto& [cause, name] : Names<record::SlotCause>::values)
        if (const double count = slots[static_cast<std::size_t>(cause)]; count != 0) named[std::string(name)] = count;
    return named;
}

const counters::VariedSlots* varied_slots(const counters::AttributedWindow& window, record::Variation what) {
    const auto found = std::ranges::find(window.variations, what, &counters::VariedSlots::what);
    return found == window.variations.end() ? nullptr : &*found;
}

Shares shares_of(std::size_t places, const std::vector<PlacedSlots>& windows,
                 const std::vector<std::vector<PlacedSlots>>& variations, bool windows_differ) {
    Shares shares{std::vector<double>(places, 0), std::vector<double>(places, 1), std::vector<double>(places, 0)};
    double all = 0;
    for (const PlacedSlots& window : windows) {
        add(window, 1, shares.base);
        all += window.all;
    }
    vary(shares, shares.base, all);
    if (windows.size() > 1) {
        for (const PlacedSlots& window : windows) {
            std::vector<double> slots(places, 0);
            if (windows_differ) slots = shares.base;
            add(window, windows_differ ? -1 : 1, slots);
            for (double& count : slots) count = std::max(0.0, count);  // what was taken away may round
            vary(shares, slots, windows_differ ? all - window.all : window.all);
        }
    }
    for (const auto& varied : variations) {
        std::vector<double> slots(places, 0);
        double of_these = 0;
        for (const PlacedSlots& window : varied) {
            add(window, 1, slots);
            of_these += window.all;
        }
        vary(shares, slots, of_these);
    }
    for (double& slots : shares.base) slots = all > 0 ? slots / all : 0;
    return shares;
}

}  // namespace tmaprobe::experiments
