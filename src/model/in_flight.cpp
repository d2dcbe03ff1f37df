#include "model/in_flight.h"

#include <algorithm>
#include <cstddef>

namespace tmaprobe::model {

void InFlight::Cycles::add(std::uint64_t cycle) {
    // Most are later than nearly all others.
    auto place = all.end();
    while (place != all.begin() + static_cast<std::ptrdiff_t>(first) && *(place - 1) > cycle) --place;
    all.insert(place, cycle);
}

void InFlight::Cycles::drop(std::size_t count) {
    first += count;
    if (2 * first < all.size()) return;
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    first = 0;
}

std::size_t InFlight::Cycles::after(std::uint64_t cycle) const {
    const auto found = std::upper_bound(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), cycle);
    return static_cast<std::size_t>(found - all.begin());
}

void InFlight::clear() {
    begins_ = {};
    ends_ = {};
}

void InFlight::add(std::uint64_t begin, std::uint64_t end) {
    begins_.add(begin);
    ends_.add(std::max(begin, end));
}

void InFlight::forget_before(std::uint64_t oldest) {
    // As many have begun before they ended: those that began first count alike at every later cycle.
    const std::size_t over = ends_.after(oldest) - ends_.first;
    begins_.drop(over);
    ends_.drop(over);
}

std::size_t InFlight::at(std::uint64_t cycle) const {
    return (begins_.after(cycle) - begins_.first) - (ends_.after(cycle) - ends_.first);
}

std::uint64_t InFlight::room_from(std::uint64_t cycle, std::size_t limit) const {
    if (limit == 0) return cycle;
    std::size_t begin = begins_.after(cycle), end = ends_.after(cycle);
    std::size_t taken = (begin - begins_.first) - (end - ends_.first);
    // Those that have begun end: there is an end as long as one is taken.
    while (taken >= limit) {
        cycle = ends_.all[end];
        for (; end < ends_.all.size() && ends_.all[end] == cycle; ++end) --taken;
        for (; begin < begins_.all.size() && begins_.all[begin] <= cycle; ++begin) ++taken;
    }
    return cycle;
}

}  // namespace tmaprobe::model
