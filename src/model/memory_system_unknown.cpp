#include "model/memory_system.h"

#include <cmath>

#include "model/core/descriptor.h"

namespace tmaprobe::model {
namespace {

using core::line_bytes;

/// From 0 to 1, the same for the same key.
double drawn_for(std::uint64_t key) {
    constexpr std::uint64_t mixing = 0x9e3779b97f4a7c15u;
    const std::uint64_t mixed = (key * mixing ^ (key * mixing) >> 29) * mixing;
    return static_cast<double>(mixed >> 11) * 0x1p-53;
}

}  // namespace

double MemorySystem::likely_held(std::uint64_t bytes, std::uint64_t met_bytes) const {
    if (resident_bytes_ <= bytes) return 1;
    if (met_bytes >= bytes) return 0;
    return static_cast<double>(bytes - met_bytes) / static_cast<double>(resident_bytes_ - met_bytes);
}

/// Questions for a line that come by chance are apart as exp(-t) says, whatever went before. What is met meanwhile goes
/// on as fast as it was.
double MemorySystem::likely_met_since(std::uint64_t bytes, std::uint64_t met_bytes, double questions_per_line) const {
    if (met_bytes == 0 || met_bytes >= bytes) return 0;
    const double further = static_cast<double>(bytes) / static_cast<double>(met_bytes) - 1;
    return 1 - std::exp(-questions_per_line * further);
}

int MemorySystem::level_of_unknown(std::uint64_t line) const {
    if (resident_bytes_ == 0 || unknown_ == Unknown::missed) return 4;
    if (unknown_ == Unknown::held) return 2;
    const std::uint64_t met_bytes = lines_from_memory_ * line_bytes;
    const std::uint64_t in_moment = (lines_from_memory_ - lines_before_moment_) * line_bytes;
    const double drawn = drawn_for(line);
    const double asked = in_moment < geometry_.l3.size_bytes ? met_areas_.questions_per_line(line) : 0;
    // The larger of two: met again by chance among all of its memory, or as often as others of its area.
    const auto held = [&](std::uint64_t bytes) {
        return drawn < likely_held(bytes, met_bytes) || drawn < likely_met_since(bytes, in_moment, asked);
    };
    return held(geometry_.l2.size_bytes) ? 2 : held(geometry_.l3.size_bytes) ? 3 : 4;
}

bool MemorySystem::holds_unknown_page(int server, std::uint64_t key, std::uint64_t page_bytes) {
    if (server < 0 || resident_bytes_ == 0 || met_pages_.find(key)) return false;
    met_pages_.insert(key);
    ++pages_met_;
    count(MemoryFact::pages_unknown);
    if (unknown_ != Unknown::likely) return unknown_ == Unknown::held;
    const std::uint64_t reach = tlb_entries_[static_cast<std::size_t>(server)] * page_bytes;
    return drawn_for(key) < likely_held(reach, pages_met_ * page_bytes);
}

}  // namespace tmaprobe::model
