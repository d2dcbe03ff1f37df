#include "model/entry_wishes.h"

#include <algorithm>
#include <map>

namespace tmaprobe::model {
namespace {

constexpr std::size_t most_of_a_copy = 4;   ///< regions
constexpr std::size_t enough_windows = 32;  ///< of a region's entries
constexpr double least_budget_ns = 20e6;    ///< of processor time, for a region
constexpr double run_further = 1.5;         ///< what a copy and its original do is not at the same speed

}  // namespace

EntryWishes::Begins EntryWishes::begins() const {
    Begins begins;
    if (!regions_.page) return begins;
    for (const process::RegionCounts& counts : regions_.page->counts()) {
        if (begins.size() <= counts.region) begins.resize(counts.region + 1);
        begins[counts.region] += static_cast<double>(counts.begins);
    }
    return begins;
}

EntryWishes::Begins EntryWishes::new_begins() {
    const Begins now = begins();
    Begins since = now;
    for (std::size_t region = 0; region < last_.size(); ++region) since[region] -= last_[region];
    last_ = now;
    return since;
}

void EntryWishes::add(Begins& sum, const Begins& more) {
    if (sum.size() < more.size()) sum.resize(more.size());
    for (std::size_t region = 0; region < more.size(); ++region) sum[region] += more[region];
}

std::vector<EntryWish> EntryWishes::of(const Begins& begun, double run_ns, double budget_ns,
                                       const std::function<bool()>& goes_on) const {
    std::map<std::uint32_t, std::size_t> known;  // windows
    for (const EntryWindow& window : found_.entries) ++known[window.region];
    std::vector<EntryWish> wishes;
    const auto add = [&](std::uint32_t region, double entries, double mean_ns) {
        if (!windows_.is_wanted(region) || known[region] >= enough_windows) return;
        wishes.push_back({region, entries, mean_ns, run_further * run_ns, 0, goes_on});
    };
    const Begins all = begins();
    std::map<std::uint32_t, double> time_ns;
    if (regions_.page)
        for (const process::RegionCounts& counts : regions_.page->counts())
            time_ns[counts.region] += counts.time_ns + counts.open_ns;
    for (std::uint32_t region = 0; region < begun.size(); ++region)
        if (begun[region] > 0) add(region, begun[region], time_ns[region] / all[region]);
    for (const trace::RegionFunction& function : regions_.functions)
        if (std::ranges::none_of(wishes, [&](const EntryWish& wish) { return wish.region == function.region; }))
            add(function.region, 1, 0);
    std::ranges::stable_sort(wishes, {}, [&](const EntryWish& wish) { return known[wish.region]; });
    if (wishes.size() > most_of_a_copy) wishes.resize(most_of_a_copy);
    for (EntryWish& wish : wishes)
        wish.budget_ns = std::max(least_budget_ns, budget_ns / static_cast<double>(wishes.size()));
    return wishes;
}

}  // namespace tmaprobe::model
