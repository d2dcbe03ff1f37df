#include "model/followed_entries.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/random.h"

namespace tmaprobe::model {
namespace {

constexpr std::size_t most_regions = 16;           ///< each has caches of its own
constexpr std::size_t most_followed_entries = 16;  ///< of a region; then half of them are left out
constexpr std::uint64_t warms = 300'000;           ///< instructions before a window, at least, where there are so many

bool has(const std::vector<std::uint32_t>& path, std::uint32_t region) {
    return std::ranges::find(path, region) != path.end();
}

}  // namespace

FollowedEntries::FollowedEntries(core::Core& core, const ModelledCpu& cpu, const ModelOptions& options,
                                 Follower follower)
    : core_(core), cpu_(cpu), options_(options), follower_(std::move(follower)) {}

void FollowedEntries::step(const trace::Step& step) {
    if (step.regions != path_) change_path(step.regions);
    ++by_path_[path_];
    if (recent_.size() == 2 * warms) {
        recent_.erase(recent_.begin(), recent_.begin() + warms);
        first_ += warms;
    }
    recent_.push_back(step);
    for (Region* region : followed_)
        if (region->open->step()) take_window(*region, options_.window_instructions);
}

void FollowedEntries::change_path(std::uint32_t path) {
    const auto& paths = follower_.regions.paths();
    const auto &before = paths[path_], &now = paths[path];
    for (const std::uint32_t number : before)
        if (!has(now, number)) end(regions_.at(number));
    for (std::size_t i = 0; i < now.size(); ++i)
        if (!has(before, now[i]) && std::find(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(i), now[i]) ==
                                        now.begin() + static_cast<std::ptrdiff_t>(i))
            begin(now[i]);
    path_ = path;
    if (by_path_.size() <= path) by_path_.resize(path + 1);
}

void FollowedEntries::begin(std::uint32_t number) {
    const auto [known, is_new] = regions_.try_emplace(number);
    Region& region = known->second;
    if (is_new) {
        region.number = number;
        const auto followed = std::ranges::count_if(regions_, [](const auto& one) { return one.second.asked; });
        const bool named = options_.attribute_in.empty() || follower_.regions.is_called(number, options_.attribute_in);
        // A trace is of the whole command, or of one region.
        region.asked = named && static_cast<std::size_t>(followed) < most_regions &&
                       (options_.trace.file.empty() || !options_.attribute_in.empty());
    }
    // By a number of its own, and not by its place in the run: a command may do the same again and again.
    const std::uint64_t chance = Random(std::uint64_t{number} << 40 ^ region.entries).next();
    if (region.entries++; !region.asked || (chance & (region.one_of - 1)) != 0) return;
    region.current = {chance, {}, {}};
    region.open.emplace(options_.window_instructions, chance);
    region.follows = true;
    followed_.push_back(&region);
}

void FollowedEntries::end(Region& region) {
    if (!std::exchange(region.follows, false)) return;
    std::erase(followed_, &region);
    if (const std::size_t steps = region.open->cut_short(); steps >= EntryPlaces::shortest_window)
        take_window(region, steps);
    region.current.stand_for = region.open->stand_for(region.current.windows.size());
    if (!region.current.windows.empty()) region.taken.push_back(std::move(region.current));
    if (region.taken.size() > most_followed_entries) thin_out(region);
}

/// Half of the entries that there are, and half of those to come.
void FollowedEntries::thin_out(Region& region) const {
    while (region.taken.size() > most_followed_entries) {
        region.one_of *= 2;
        std::vector<Taken> kept;
        for (Taken& taken : region.taken)
            if ((taken.chance & (region.one_of - 1)) == 0) kept.push_back(std::move(taken));
        region.taken = std::move(kept);
    }
}

/// The last steps are a window; those before it are for the caches, which are the region's own, since windows of
/// regions in one another overlap.
void FollowedEntries::take_window(Region& region, std::size_t steps) {
    if (!problem_) return;
    if (!region.simulator) {
        region.simulator = std::make_unique<WindowSimulator>(core_, cpu_);
        follower_.prepare(*region.simulator);
    }
    WindowSimulator& simulator = *region.simulator;
    const std::uint64_t end = first_ + recent_.size(), begin = end - steps;
    // Counting begins with the first instruction: what the core still had in it then is of those before.
    const std::uint64_t lead_in = std::min<std::uint64_t>(
        {begin - first_, WindowSimulator::lead_in_of(steps + steps / 3), begin - std::min(begin, region.fed)});
    const auto& instructions = follower_.translator.instructions();
    std::uint64_t from = std::max(first_, region.fed);
    if (from > region.fed || region.fed == 0) simulator.begin_moment(follower_.resident_bytes());
    for (; from < begin - lead_in; ++from) simulator.follow(instructions[at(from).instruction], at(from));
    trace::Trace window{instructions,
                        {std::prev(recent_.end(), static_cast<std::ptrdiff_t>(steps + lead_in)), recent_.end()}};
    simulator.set_lead_in(lead_in);
    region.fed = end;
    steps_ += steps;
    auto facts = simulator.simulate(window);
    if (!facts) {
        problem_ = pass_on(facts);
        return;
    }
    region.current.windows.push_back(std::move(*facts));
}

Result<> FollowedEntries::finish() {
    change_path(0);
    return problem_;
}

std::vector<EntryWindow> FollowedEntries::take_windows() {
    std::vector<EntryWindow> windows;
    std::uint32_t entry = 0;
    for (auto& [number, region] : regions_) {
        for (Taken& taken : region.taken) {
            for (std::size_t i = 0; i < taken.windows.size(); ++i)
                windows.push_back({number, entry, taken.stand_for[i], 1, std::move(taken.windows[i])});
            ++entry;
        }
        region.taken.clear();
    }
    return windows;
}

std::pair<double, double> FollowedEntries::instructions_in(std::uint32_t region) const {
    std::pair<double, double> sums{0, 0};
    const auto& paths = follower_.regions.paths();
    for (std::size_t path = 0; path < by_path_.size(); ++path) {
        if (!has(paths[path], region)) continue;
        sums.first += static_cast<double>(by_path_[path]);
        if (paths[path].back() == region) sums.second += static_cast<double>(by_path_[path]);
    }
    return sums;
}

std::size_t FollowedEntries::simulated_instructions() const {
    std::size_t sum = 0;
    for (const auto& [number, region] : regions_)
        if (region.simulator) sum += region.simulator->simulated_instructions();
    return sum;
}

double FollowedEntries::simulating_ns() const {
    double sum = 0;
    for (const auto& [number, region] : regions_)
        if (region.simulator) sum += region.simulator->simulating_ns();
    return sum;
}

}  // namespace tmaprobe::model
