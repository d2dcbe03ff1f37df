#include "trace/open_regions.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tmaprobe::trace {

void OpenRegions::look(const std::vector<std::uint32_t>& regions, bool in_mark) {
    open_.clear();
    for (const std::uint32_t region : regions) open_.push_back({region});
    begun_in_mark_ = in_mark;
    ended_ = depth_stored_ = false;
}

std::optional<OpenRegions::Open> OpenRegions::leave(std::uint32_t region) {
    const auto found =
        std::find_if(open_.rbegin(), open_.rend(), [&](const Open& one) { return one.region == region; });
    if (found == open_.rend()) return std::nullopt;
    const Open left = *found;
    open_.erase(std::next(found).base());
    return left;
}

void OpenRegions::depth_stored() {
    if (!begun_in_mark_) return;
    if (!std::exchange(ended_, false)) depth_stored_ = true;
}

void OpenRegions::begin_stored(std::uint32_t region, std::uint64_t at) {
    const bool was_there = begun_in_mark_ && !depth_stored_ && !open_.empty();
    begun_in_mark_ = false;
    // Its place may not have had its name yet.
    if (was_there) open_.pop_back();
    enter(region, true, at);
}

std::optional<OpenRegions::Open> OpenRegions::end_stored(std::uint32_t region) {
    if (begun_in_mark_) {
        settle();
        ended_ = true;
    }
    return leave(region);
}

/// A depth stored neither for a begin nor for an end that was seen is that of an end counted before.
bool OpenRegions::settle() {
    if (!std::exchange(depth_stored_, false) || open_.empty()) return false;
    open_.pop_back();
    return true;
}

bool OpenRegions::mark_left() {
    if (!std::exchange(begun_in_mark_, false)) return false;
    return settle();
}

std::vector<std::uint32_t> OpenRegions::regions() const {
    std::vector<std::uint32_t> regions;
    for (const Open& one : open_) regions.push_back(one.region);
    return regions;
}

}  // namespace tmaprobe::trace
